/**
 * One way through the console in Firefox, driven over WebDriver BiDi: sign in, overview, list of instances.
 * `FIREFOX` names its program where it is not in the path. Without one this says so and ends.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { preview } from "vite";

/** A busy machine is late now and then. */
const PATIENCE = 60_000;
const LOOK = 100;

function findFirefox(): string | null {
  if (process.env.FIREFOX) return process.env.FIREFOX;
  const folders = (process.env.PATH ?? "").split(delimiter);
  const programs = ["firefox", "firefox-esr"].flatMap((name) => folders.map((folder) => join(folder, name)));
  return programs.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What the content policy refuses is a fault, too. */
const TELL_POLICY = `() => document.addEventListener("securitypolicyviolation", (event) =>
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI))`;

/** What BiDi sends: the answer to a command by its id, or an event. */
type Message =
  | { type: "success"; id: number; result: Record<string, unknown> }
  | { type: "error"; id: number; error: string; message: string }
  | { type: "event"; method: string; params: Record<string, unknown> };

class Browser {
  readonly faults: string[] = [];
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #last = 0;
  #context = "";

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#hear(JSON.parse(String(data))));
  }

  static async connect(address: string): Promise<Browser> {
    const socket = new WebSocket(`${address}/session`);
    const opened = Promise.withResolvers<void>();
    socket.addEventListener("open", () => opened.resolve());
    socket.addEventListener("error", () => opened.reject(new Error(`no connection to ${address}`)));
    await opened.promise;
    const browser = new Browser(socket);
    await browser.send("session.new", { capabilities: {} });
    await browser.send("session.subscribe", { events: ["log.entryAdded"] });
    await browser.send("script.addPreloadScript", { functionDeclaration: TELL_POLICY });
    const { contexts } = await browser.send("browsingContext.getTree", {});
    browser.#context = (contexts as { context: string }[])[0]?.context ?? "";
    return browser;
  }

  #hear(message: Message) {
    if (message.type !== "event") {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    } else if (message.method === "log.entryAdded" && message.params.level === "error")
      this.faults.push(String(message.params.text));
  }

  async send(method: string, params: object): Promise<Record<string, unknown>> {
    const id = ++this.#last;
    const answer = Promise.withResolvers<Message>();
    this.#waiting.set(id, answer.resolve);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const message = await answer.promise;
    if (message.type !== "success") throw new Error(`${method}: ${JSON.stringify(message)}`);
    return message.result;
  }

  open(url: string) {
    return this.send("browsingContext.navigate", { context: this.#context, url, wait: "complete" });
  }

  /** What a script in the page says, as text. */
  async read(expression: string): Promise<string> {
    const answer = await this.send("script.evaluate", {
      expression: `String(${expression})`,
      target: { context: this.#context },
      awaitPromise: true,
    });
    return String((answer.result as { value?: unknown } | undefined)?.value);
  }

  async until(what: string, expression: string) {
    const end = Date.now() + PATIENCE;
    while ((await this.read(expression)) !== "true") {
      if (Date.now() > end) throw new Error(`${what}: not after ${PATIENCE / 1000} s`);
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
    console.log(`  ${what}`);
  }

  async #press(actions: object[]) {
    await this.send("input.performActions", { context: this.#context, actions });
  }

  async click(selector: string) {
    const { nodes } = await this.send("browsingContext.locateNodes", {
      context: this.#context,
      locator: { type: "css", value: selector },
    });
    const [element] = nodes as { sharedId: string }[];
    assert(element, `nothing is ${selector}`);
    const origin = { type: "element", element: { sharedId: element.sharedId } };
    await this.#press([
      {
        type: "pointer",
        id: "mouse",
        actions: [
          { type: "pointerMove", x: 0, y: 0, origin },
          { type: "pointerDown", button: 0 },
          { type: "pointerUp", button: 0 },
        ],
      },
    ]);
  }

  type(text: string) {
    const actions = [...text].flatMap((value) => [
      { type: "keyDown", value },
      { type: "keyUp", value },
    ]);
    return this.#press([{ type: "key", id: "keyboard", actions }]);
  }

  async close() {
    await this.send("browser.close", {});
  }
}

async function story(browser: Browser, url: string) {
  const titled = (title: string) => `document.querySelector("h1")?.textContent === "${title}"`;
  await browser.open(`${url}sign-in`);
  await browser.until("the sign-in is shown", titled("Sign in"));
  await browser.click("[name=email]");
  await browser.type("mira@northlight.studio");
  await browser.click("[name=password]");
  await browser.type("northlight");
  await browser.click("button[type=submit]");
  await browser.until("signed in: the overview is shown", titled("Overview"));
  await browser.until("it shows what runs", 'document.querySelectorAll("main [role=row]").length > 4');
  await browser.click('nav a[href^="/instances"]');
  await browser.until("the list of instances is shown", titled("Instances"));
  await browser.until("it follows events", 'document.body.innerText.includes("Live")');
  const seconds = 'document.querySelector("main [role=table]").innerText';
  const before = await browser.read(seconds);
  await browser.until("running times count up", `${seconds} !== ${JSON.stringify(before)}`);
  assert.deepEqual(browser.faults, [], "the browser's console has errors");
}

const program = findFirefox();
if (program) {
  const profile = mkdtempSync(join(tmpdir(), "atelier-firefox-"));
  const server = await preview({ mode: "mock", build: { outDir: "mock-dist" } });
  const url = server.resolvedUrls?.local[0] ?? "";
  const firefox = spawn(program, [
    "--headless",
    "--no-remote",
    "--profile",
    profile,
    "--remote-debugging-port=0",
  ]);
  try {
    const address = Promise.withResolvers<string>();
    firefox.once("error", address.reject);
    firefox.once("exit", (code) => address.reject(new Error(`Firefox ended with ${code}`)));
    createInterface(firefox.stderr).on("line", (line) => {
      const found = /WebDriver BiDi listening on (ws:\S+)/.exec(line)?.[1];
      if (found) address.resolve(found);
    });
    const browser = await Browser.connect(await address.promise);
    await story(browser, url);
    await browser.close();
    console.log("Firefox: passed");
  } finally {
    firefox.kill();
    if (firefox.exitCode === null && firefox.signalCode === null) await once(firefox, "exit");
    await server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
} else console.log("No Firefox here: the story in Firefox is left out. FIREFOX names its program.");

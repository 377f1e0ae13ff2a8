import type { Problem } from "@/api/generated/types";
import { ApiError, NetworkError } from "@/api/problem";
import { parseAmount } from "@/lib/money";
import { Button } from "@/ui/button";
import { CopyBox, CopyButton } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { Checkbox, PasswordField, TextField } from "@/ui/field";
import { Money, PriceTag } from "@/ui/money";
import { Empty, PageHead, Panel, Row, Section } from "@/ui/page";
import { marks, StateMark } from "@/ui/state";
import { notify } from "@/ui/toast";
import { DialogParts, MenuParts, SelectParts, TableParts } from "./open";

const conflict = new ApiError(
  {
    type: "https://atelier.dev/problems/last-owner",
    title: "Last owner of the tenant",
    status: 409,
    detail: "The tenant would have no owner.",
  } as Problem,
  "6b0f9a3e1c4d4b0f8a8d2f1e7c5b3a90",
  null,
);

/** Every part in its states: what a new page is made of. Development only. */
export function PartsPage() {
  return (
    <main className="mx-auto max-w-6xl px-5 py-6 md:px-8">
      <PageHead
        title="Parts"
        mark={<StateMark mark="runs">Running</StateMark>}
        actions={<Button kind="primary">The one primary action</Button>}
      >
        One sentence that says how things stand in numbers.
      </PageHead>
      <Section title="Buttons">
        <div className="flex flex-wrap items-center gap-2">
          <Button kind="primary">Start</Button>
          <Button>
            Start <PriceTag perHour="0.74" currency="USD" />
          </Button>
          <Button kind="quiet">Cancel</Button>
          <Button kind="danger">Delete</Button>
          <Button small>Small</Button>
          <Button busy>Busy</Button>
          <Button disabled="Only owners of the studio can do this.">With a reason</Button>
          <CopyButton text="inst_01" label="Copy the id" />
          <Button onClick={() => notify({ title: "Saved" })}>Notice</Button>
          <Button onClick={() => notify({ failed: true, title: "Not saved", detail: "The reason." })}>
            Failed notice
          </Button>
        </div>
      </Section>
      <Section title="States">
        <div className="flex flex-wrap gap-8">
          {marks.map((mark) => (
            <StateMark key={mark} mark={mark} reason="the reason below">
              {mark}
            </StateMark>
          ))}
        </div>
      </Section>
      <Section title="Fields">
        <div className="grid gap-4 md:grid-cols-3">
          <TextField label="Name" hint="Members see it." defaultValue="backgrounds-act-3" />
          <TextField label="Size" error="At least 10." defaultValue="4" after="GiB" />
          <PasswordField label="Password" defaultValue="northlight" />
          <SelectParts />
          <Checkbox label="Stop when idle" hint="GPU below 5 % and no open pages" defaultChecked />
        </div>
      </Section>
      <Section title="Menus and dialogs">
        <div className="flex flex-wrap items-center gap-2">
          <MenuParts />
          <DialogParts />
        </div>
      </Section>
      <Section
        title="Table"
        hint="Rows have their own layout on a narrow screen; above 100 only those in view exist."
      >
        <TableParts count={3} />
        <div className="mt-4">
          <TableParts count={10_000} />
        </div>
      </Section>
      <Section title="Rows, empty, text for machines">
        <Panel>
          <Row title="Spent this month" hint="Since 1 November">
            <Money amount={parseAmount("318.42")} currency="USD" />
          </Row>
          <Empty title="No storages yet" actions={<Button>Make one</Button>}>
            Models and pictures stay when the instance stops. It costs $0.03 per GiB and month.
          </Empty>
        </Panel>
        <div className="mt-4">
          <CopyBox
            lines
            label="Copy"
            text={"curl 'http://localhost:8080/v1/me' \\\n  -H \"Authorization: Bearer $KEY\""}
          />
        </div>
      </Section>
      <Section title="Errors">
        <div className="space-y-2">
          <ErrorLine error={conflict} />
          <ErrorLine error={new NetworkError(null)} />
        </div>
      </Section>
    </main>
  );
}

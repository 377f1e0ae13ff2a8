import { useState } from "react";
import { Button } from "@/ui/button";
import { ConfirmDialog, Dialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { ActionMenu } from "@/ui/menu";
import { NameDialog } from "@/ui/name-dialog";
import { SelectField } from "@/ui/select";
import { StateMark } from "@/ui/state";
import { type Column, type Sort, Table } from "@/ui/table";

export function SelectParts() {
  const [value, setValue] = useState("4090");
  return (
    <SelectField
      label="GPU"
      value={value}
      onChange={setValue}
      choices={[
        { value: "3080", label: "RTX 3080", hint: "10 GB" },
        { value: "4090", label: "RTX 4090", hint: "24 GB" },
      ]}
    />
  );
}

export function MenuParts() {
  return (
    <ActionMenu
      label="Actions"
      entries={[
        { key: "a", label: "Restart", onSelect: () => undefined },
        { key: "b", label: "Start", disabled: "It runs already.", onSelect: () => undefined },
        "line",
        { key: "c", label: "Delete…", danger: true, onSelect: () => undefined },
      ]}
    />
  );
}

export function DialogParts() {
  const [open, setOpen] = useState<"form" | "name" | "confirm" | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <Button onClick={() => setOpen("form")}>Dialog</Button>
      <Button onClick={() => setOpen("name")}>Rename</Button>
      <Button onClick={() => setOpen("confirm")}>Confirmation</Button>
      <Dialog
        open={open === "form"}
        onClose={close}
        title="New link"
        description="Whoever has it sees the WebUI."
        onSubmit={close}
        footer={
          <>
            <Button onClick={close}>Cancel</Button>
            <Button kind="primary" type="submit">
              Create
            </Button>
          </>
        }
      >
        <TextField label="Name" />
      </Dialog>
      {open === "name" && (
        <NameDialog
          title="Rename shared-models"
          description="Its address stays as it is."
          label="Name"
          initial="shared-models"
          longest={100}
          wrong="Between 1 and 100 characters."
          busy={false}
          error={null}
          onSend={close}
          curlOf={(name) => `curl -d '{"name": "${name}"}'`}
          onClose={close}
        />
      )}
      <ConfirmDialog
        open={open === "confirm"}
        onClose={close}
        onConfirm={close}
        title="Delete shared-models?"
        verb="Delete"
        typed="shared-models"
      >
        <p>171 GiB of models are lost. Instances that use them no longer start.</p>
      </ConfirmDialog>
    </>
  );
}

interface Thing {
  id: number;
  name: string;
}

export function TableParts({ count }: { count: number }) {
  const [sort, setSort] = useState<Sort>({ key: "name", descending: false });
  const items = Array.from({ length: count }, (_, id): Thing => ({ id, name: `character-sheets-${id}` }));
  const name = (it: Thing) => <span className="block truncate font-medium">{it.name}</span>;
  const state = (it: Thing) => (
    <StateMark mark={it.id % 3 === 0 ? "runs" : it.id % 3 === 1 ? "moves" : "rests"}>Running</StateMark>
  );
  const columns: Column<Thing>[] = [
    { key: "name", label: "Name", width: "minmax(0, 1fr)", cell: name, sortable: true },
    { key: "state", label: "State", width: "9rem", cell: state },
    {
      key: "cost",
      label: "This run",
      width: "6rem",
      end: true,
      cell: () => <span className="num">$0.81</span>,
    },
  ];
  return (
    <Table
      label={`Things, ${count}`}
      items={sort.descending ? items.toReversed() : items}
      columns={columns}
      rowKey={(it) => String(it.id)}
      rowHeight={44}
      sort={sort}
      onSort={setSort}
      empty={null}
      narrow={(it) => (
        <div className="flex items-center justify-between gap-3">
          {name(it)}
          {state(it)}
        </div>
      )}
    />
  );
}

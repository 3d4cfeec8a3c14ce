// Reports of client.mjs for cases on standard input, one JSON document a line; prints their reports, one list a line.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Client } = await import(pathToFileURL(process.argv[2]));
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (array) => Buffer.from(array).toString("hex");

for await (const line of createInterface({ input: process.stdin })) {
  const { assignment, secret, state, entropy, values, hash } = JSON.parse(line);
  const source = bytes(entropy);
  let at = 0;
  const next = (size) => {
    if (at + size > source.length) throw new Error("no bytes left");
    return source.slice(at, (at += size));
  };
  try {
    const client = await Client.open(assignment, { secret: secret && bytes(secret), state, hash });
    client._supply = next;
    const reports = [];
    for (const [value, batch] of values) reports.push(hex(await client.report(value.number ? Number(value.number) : value, batch)));
    console.log(JSON.stringify({ reports, used: at, records: state?.records }));
  } catch (error) {
    console.log(JSON.stringify({ refused: error.message }));
  }
}

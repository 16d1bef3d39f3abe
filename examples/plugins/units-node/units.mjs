// A plugin in Node with nothing but its own modules.
import { createInterface } from "node:readline";

const UNITS = {
  length: { m: [1, 0], km: [1000, 0], mi: [1609.344, 0], ft: [0.3048, 0] },
  mass: { kg: [1, 0], g: [0.001, 0], lb: [0.45359237, 0] },
  temperature: { K: [1, 0], C: [1, 273.15], F: [5 / 9, 459.67 * (5 / 9)] },
};

const say = (frame) => process.stdout.write(`${JSON.stringify(frame)}\n`);
const kindOf = (unit) => Object.keys(UNITS).find((kind) => unit in UNITS[kind]);

const tools = {
  convert_units({ amount, from, to }) {
    const kind = kindOf(from);
    if (!kind || kind !== kindOf(to)) throw new Error(`'${from}' cannot be converted to '${to}'`);
    const [[scale, zero], [target, origin]] = [UNITS[kind][from], UNITS[kind][to]];
    const converted = Number(((amount * scale + zero - origin) / target).toPrecision(12));
    return { text: `${amount} ${from} = ${converted} ${to}`, structured: { amount: converted, unit: to } };
  },
  list_units() {
    const lines = Object.entries(UNITS).map(([kind, units]) => `${kind}: ${Object.keys(units).join(", ")}`);
    return { text: lines.join("\n") };
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const frame = JSON.parse(line);
  if (frame.type === "hello") {
    say({ type: "describe", protocol: 1, tools: Object.keys(tools).map((name) => ({ name })) });
  } else if (frame.type === "call") {
    try {
      say({ type: "result", id: frame.id, ...tools[frame.tool](frame.arguments) });
    } catch (error) {
      say({ type: "error", id: frame.id, message: error.message });
    }
  }
});

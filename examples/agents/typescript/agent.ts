// An agent: OpenAI's SDK for the model, toolcrib for the tools.

import { randomUUID } from "node:crypto";
import OpenAI from "openai";

const TARGET = "openai-chat";

async function ask(path: string, body: object): Promise<any> {
  const key = process.env.TOOLCRIB_KEY;
  const answer = await fetch(process.env.TOOLCRIB + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify(body),
  });
  const document = await answer.json();
  if (!answer.ok) throw new Error(`${document.code}: ${document.detail}`);
  return document;
}

async function run(task: string): Promise<string> {
  const model = new OpenAI();
  const session = randomUUID();
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: task }];
  let previous: object | undefined;
  for (;;) {
    // What was shown before comes first and has the same bytes, so the provider's prompt cache stays warm; tools that the
    // conversation came to know come after it.
    const conversation = { previous, transcript: messages };
    const assembled = await ask("/v1/assemble", { target: TARGET, conversation });
    const { tools } = assembled;
    const response = await model.chat.completions.create({ model: process.env.MODEL!, messages, tools });
    // Runs the calls in the response; what failed or was denied comes back as a result that the model can act on.
    previous = assembled.turn;
    const turn = await ask("/v1/turns", { target: TARGET, response, session, conversation: { previous } });
    messages.push(...turn.messages);
    if (turn.done) return turn.text;
  }
}

console.log(await run(process.argv.slice(2).join(" ")));

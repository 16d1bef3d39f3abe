"""An agent: Anthropic's SDK for the model, toolcrib for the tools."""

import os
import sys
import uuid

import anthropic
import httpx

TARGET = "anthropic"


def run(task: str) -> str:
    key = os.environ.get("TOOLCRIB_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    session = str(uuid.uuid4())
    model = anthropic.Anthropic()
    messages: list = [{"role": "user", "content": task}]
    with httpx.Client(base_url=os.environ["TOOLCRIB"], headers=headers, timeout=300) as toolcrib:

        def ask(path: str, **body: object) -> dict:
            answer = toolcrib.post(path, json=body)
            if answer.is_error:
                problem = answer.json()
                raise RuntimeError(f"{problem['code']}: {problem['detail']}")
            return answer.json()

        conversation: dict = {}
        while True:
            # What was shown before comes first and has the same bytes, so the provider's prompt cache stays warm; tools that
            # the conversation came to know come after it.
            assembled = ask("/v1/assemble", target=TARGET, conversation=conversation | {"transcript": messages})
            messages = assembled.get("transcript", messages)
            response = model.messages.create(
                model=os.environ["MODEL"], max_tokens=4096, messages=messages, tools=assembled["tools"]
            )
            # Runs the calls in the response; what failed or was denied comes back as a result that the model can act on.
            conversation = {"previous": assembled["turn"]}
            turn = ask(
                "/v1/turns", target=TARGET, response=response.to_dict(), session=session, conversation=conversation
            )
            messages += turn["messages"]
            if turn["done"]:
                return turn["text"]


if __name__ == "__main__":
    print(run(" ".join(sys.argv[1:])))

import asyncio

from countersign import Answered, Choice, Client, Question

REGION = Question("Which region?", [Choice("eu-central"), Choice("us-east")])


async def main() -> None:
    decision = await Client().question("deployer", "nightly", REGION)
    match decision:
        case Answered():
            print(decision.text("Which region?"))
        case denied:
            print(f"no answer: {denied.reason}")


asyncio.run(main())

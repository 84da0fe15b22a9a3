import asyncio
import subprocess

from countersign import Accepts, Approved, Call, Client, Denied, Edited


async def main() -> None:
    call = Call(
        agent="deployer",
        session="nightly",
        tool="shell_exec",
        args={"command": "make deploy"},
        reason="the release is tagged",
        accepts=[Accepts.UPDATED_INPUT],
    )
    match await Client().decide(call):
        case Approved():
            subprocess.run(["bash", "-c", "make deploy"], check=True)
        case Edited(args={"command": str(command)}):
            subprocess.run(["bash", "-c", command], check=True)
        case Denied() as denied:
            print(f"not deployed: {denied.text_for_model}")


asyncio.run(main())

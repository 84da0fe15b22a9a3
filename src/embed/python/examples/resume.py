import asyncio
import sys

from countersign import Approved, Call, Client, StillOpen


async def main(order: str) -> None:
    call = Call(
        agent="billing",
        session=f"order-{order}",
        tool="refund",
        args={"order": order},
        key=f"refund-{order}",
    )
    match await Client().wait(call, at_most=3600):
        case Approved():
            print("refunded")
        case StillOpen(ask):
            print(f"{ask} still waits; run this again")
        case denied:
            print(f"not refunded: {denied.reason}")


asyncio.run(main(sys.argv[1]))

"""What is on this machine, and why the first is the one that is chosen."""

import backplane

with backplane.Context() as context:
    for device in context.devices():
        print(f"{device.id:12} {device.kind:10} {device.memory_total >> 20:>8} MiB  {device.name}")
    for candidate in context.report()["candidates"]:
        if candidate.get("reason"):
            print(f"not used: {candidate['path']}: {candidate['reason']}")

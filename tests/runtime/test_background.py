"""Work that nobody waits for while it runs."""

import asyncio

import pytest

from hermes_agent.runtime.background import Background


@pytest.mark.req("S4")
def test_joining_waits_for_everything_also_for_what_begins_meanwhile() -> None:
    done: list[str] = []

    async def main() -> list[str]:
        background = Background(lambda name, error: done.append(f"{name} failed"))

        async def second() -> None:
            await asyncio.sleep(0.01)
            done.append("second")

        async def first() -> None:
            await asyncio.sleep(0.01)
            background.start(second(), "b")
            done.append("first")

        background.start(first(), "a")
        assert (background.names, done) == (["a"], [])
        await background.join()
        await background.join()
        return background.names

    assert (asyncio.run(main()), done) == ([], ["first", "second"])


@pytest.mark.req("S4")
def test_what_work_raises_is_told_with_its_name_and_goes_no_further() -> None:
    told: list[tuple[str, str]] = []

    async def main() -> None:
        background = Background(lambda name, error: told.append((name, repr(error))))

        async def breaks(error: BaseException) -> None:
            raise error

        background.start(breaks(ValueError("odd")), "one")
        background.start(breaks(KeyError("x")), "two")
        await background.join()

    asyncio.run(main())
    assert sorted(told) == [("one", "ValueError('odd')"), ("two", "KeyError('x')")]


@pytest.mark.req("S4")
def test_a_join_that_is_cancelled_cancels_what_is_left_and_waits_until_it_has_tidied_up() -> None:
    log: list[str] = []

    async def main() -> list[str]:
        background = Background(lambda name, error: log.append(f"{name}: {error!r}"))

        async def stands() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.01)
                log.append("tidied up")

        background.start(stands(), "a")
        joining = asyncio.ensure_future(background.join())
        await asyncio.sleep(0.01)
        joining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joining
        return background.names

    assert (asyncio.run(main()), log) == ([], ["tidied up"])

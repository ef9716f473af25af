"""What SlangPy logs is collected without a call into Python, which could stop two threads for ever."""

from __future__ import annotations

import threading

from slangnb.devices.log import captured_log, warnings_in


def test_warnings_alone_and_each_in_its_own_block() -> None:
    import slangpy as spy

    logger = spy.Logger.get()
    with captured_log() as outer:
        logger.log(spy.LogLevel.warn, "one\nof two lines")
        with captured_log() as inner:
            logger.log(spy.LogLevel.info, "not this")
            logger.log(spy.LogLevel.error, "two")
        assert inner.text() == "two"
        assert outer.text() == "one\nof two lines\ntwo"
    assert warnings_in("") == ""


def test_threads_that_log_while_outputs_change() -> None:
    import slangpy as spy

    logger, stop = spy.Logger.get(), threading.Event()

    def talk() -> None:
        while not stop.is_set():
            logger.log(spy.LogLevel.warn, "talk")

    with captured_log() as all_of_it:
        threads = [threading.Thread(target=talk, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            with captured_log():
                logger.log(spy.LogLevel.warn, "mine")
        stop.set()
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        assert all_of_it.text().split("\n").count("mine") == 200

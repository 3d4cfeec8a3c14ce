"""Sparse vector technique: which of many queries have answers above a threshold, for one cost.

    above = AboveThreshold(threshold=1000, epsilon=0.5, answers=3)
    above.event()                    # the whole stream, charged once, when it opens
    stream = above.open()            # draws the noise of the threshold, and keeps it
    stream.ask(412)                  # Below()
    stream.ask_many([870, 1430])     # [Below(), Above(answer=None, gap=None)]
    stream.left                      # 2: after three above, the stream is closed

    each = AboveThreshold(threshold=1000, epsilon=0.1)
    RepeatedAboveThreshold(each, times=3)   # draws the noise of the threshold again after each answer above

The contract of the family: the parameters are a frozen value whose `event()` is the privacy cost of a whole stream;
`open()` makes a stream, which holds secret noise, belongs to one process and cannot be copied; `accuracy` says how far
from the threshold an answer may be wrong. Every opening is an event of its own, whether or not anything is asked.
"""

from discreet.mechanisms.threshold.above import AboveThreshold
from discreet.mechanisms.threshold.repeated import RepeatedAboveThreshold
from discreet.mechanisms.threshold.stream import Above, Below, Stream

__all__ = ["Above", "AboveThreshold", "Below", "RepeatedAboveThreshold", "Stream"]

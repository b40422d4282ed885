"""Compiled passes of exact substring deduplication; `substrings` says how they go together.

A *place* is a byte's position in the corpus times 16 plus two numbers of 0 to 3: how many bytes
the window that begins there must give up at its start (times 4) and at its end to begin and end
between characters. An *edge* is a position times 4 plus such a number. Both sort like positions.

Legend: L bytes a window, k bytes an anchor, w = L - k + 1 anchors a window.
"""

from __future__ import annotations

import numba
import numpy as np

from seamount.corpora.text.dedupe.rolling_hash import hash_prefixes, hash_stretch

_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)  # MurmurHash3
_SHIFT = np.uint64(33)
# Columns of a context: what its windows are told apart by, where it begins, how many they are.
ANCHOR, HASH_1, HASH_2, PLACE, COUNT = range(5)
CONTEXT_COLUMNS = 5


@numba.njit(cache=True, nogil=True)
def _mix(x):  # type: ignore[no-untyped-def]
    x = (x ^ (x >> _SHIFT)) * _MIX_1
    x = (x ^ (x >> _SHIFT)) * _MIX_2
    return x ^ (x >> _SHIFT)


@numba.njit(cache=True, nogil=True)
def _after_start(text, at):  # type: ignore[no-untyped-def]
    """Bytes from `at` to the next beginning of a character, at most 3."""
    moved = 0
    while moved < 3 and at + moved < text.size and text[at + moved] & 0xC0 == 0x80:
        moved += 1
    return moved


@numba.njit(cache=True, nogil=True)
def _before_end(text, at):  # type: ignore[no-untyped-def]
    """Bytes back from `at` to the nearest beginning of a character or the text's end, up to 3."""
    moved = 0
    while moved < 3 and at < text.size and text[at - moved] & 0xC0 == 0x80:
        moved += 1
    return moved


@numba.njit(cache=True, nogil=True)
def _place(text, base, at, length):  # type: ignore[no-untyped-def]
    moved = 4 * _after_start(text, at) + _before_end(text, at + length)
    return np.uint64((base + at) * 16 + moved)


@numba.njit(cache=True, nogil=True)
def contexts(text, base, first, last, k, length, table, prefixes, anchors, rows, cuts):  # type: ignore[no-untyped-def]
    """Contexts of the windows that begin in text[first:last], and cuts that are plain already.

    A window's anchor is the k bytes in it of the least hash, of equal ones the last. Windows that
    follow one another and share an anchor are one context: a row of `rows`. A context inside a
    stretch that repeats itself at less than w bytes, so far in that the same lies a window or more
    before, is cut at once and never sorted: of a gigabyte of one byte some windows are. Edges go
    to `cuts`; `base` is the text's position in the corpus. Returns how many of both were written.
    """
    w = length - k + 1
    hash_prefixes(text, first, last + length - 1, table, prefixes)
    for at in range(last - first + w - 1):
        anchors[at] = _mix(hash_stretch(prefixes, 0, at, k, table))
    found = cut = 0
    # text[i] == text[i - period] for i from `since` to below `upto`
    period, since, upto = 0, 0, 0
    least, before, start = _least(anchors, 0, w), -1, first
    while start < last:
        end = start + 1  # windows from start to below end have this anchor
        following = least
        while end < last:
            new = end - first + w - 1
            if anchors[new] <= anchors[least]:
                following = new
            elif least < end - first:
                following = _least(anchors, end - first, w)
            if following != least:
                break
            end += 1
        stop = end - 1 + length
        if before >= 0 and anchors[before] == anchors[least]:
            if period != least - before:
                period, since, upto = least - before, least + first, least + first
            while upto < stop and text[upto] == text[upto - period]:
                upto += 1
        else:
            period = 0
        if period > 0 and upto < stop:
            period = 0
        back = (length + period - 1) // period * period if period > 0 else 0
        if period > 0 and start - back + period >= since:
            from_, to = _edges_of(_place(text, base, start, stop - start), stop - start)
            cut = _join(cuts, cut, from_, to)
        else:
            count, size = end - start, stop - start
            rows[found, ANCHOR] = anchors[least]
            rows[found, HASH_1] = hash_stretch(prefixes, 0, start - first, size, table)
            rows[found, HASH_2] = hash_stretch(prefixes, 1, start - first, size, table)
            rows[found, PLACE] = _place(text, base, start, size)
            rows[found, COUNT] = count
            found += 1
        before, least, start = least, following, end
    return found, cut


@numba.njit(cache=True, nogil=True)
def _least(anchors, start, w):  # type: ignore[no-untyped-def]
    least = start
    for at in range(start + 1, start + w):
        if anchors[at] <= anchors[least]:
            least = at
    return least


@numba.njit(cache=True, nogil=True)
def _join(cuts, count, start, end):  # type: ignore[no-untyped-def]
    """Append a cut, or widen the last one where they touch; returns how many there are."""
    if count and start >> np.uint64(2) <= cuts[count - 1, 1] >> np.uint64(2):
        cuts[count - 1, 1] = max(cuts[count - 1, 1], end)
        return count
    cuts[count, 0], cuts[count, 1] = start, end
    return count + 1


@numba.njit(cache=True, nogil=True)
def _edges_of(place, size):  # type: ignore[no-untyped-def]
    at, moved = place >> np.uint64(4), place & np.uint64(15)
    start = at * np.uint64(4) + (moved >> np.uint64(2))
    return start, (at + np.uint64(size)) * np.uint64(4) + (moved & np.uint64(3))


@numba.njit(cache=True, nogil=True)
def judge_contexts(rows, state, length, cuts, requests):  # type: ignore[no-untyped-def]
    """From sorted contexts the cuts, and the contexts whose windows must be compared one by one.

    A context that was there before is cut whole; of those with the same anchor and other bytes
    the windows are asked for; one that is alone is left. `state` (a context, and whether its
    anchor has been seen with other bytes) is carried from block to block, zeros at first. Returns
    how many cuts and requests were written; up to one more than rows.
    """
    cut = asked = 0
    for row in rows:
        if state[COUNT] == 0 or row[ANCHOR] != state[ANCHOR]:
            state[:CONTEXT_COLUMNS] = row
            state[CONTEXT_COLUMNS] = 0
        elif row[HASH_1] != state[HASH_1] or row[HASH_2] != state[HASH_2]:
            if state[CONTEXT_COLUMNS] == 0:
                requests[asked, 0], requests[asked, 1] = state[PLACE], state[COUNT]
                asked += 1
            state[:CONTEXT_COLUMNS] = row
            state[CONTEXT_COLUMNS] = 1
            requests[asked, 0], requests[asked, 1] = row[PLACE], row[COUNT]
            asked += 1
        elif _comes_again(row[PLACE], state[PLACE], length):
            size = np.int64(row[COUNT]) + length - 1
            cuts[cut, 0], cuts[cut, 1] = _edges_of(row[PLACE], size)
            cut += 1
        else:  # it overlaps the first one; others may still hold its windows earlier
            requests[asked, 0], requests[asked, 1] = row[PLACE], row[COUNT]
            asked += 1
    return cut, asked


@numba.njit(cache=True, nogil=True)
def _comes_again(place, first, length):  # type: ignore[no-untyped-def]
    return place >> np.uint64(4) >= (first >> np.uint64(4)) + np.uint64(length)


@numba.njit(cache=True, nogil=True)
def windows(text, base, requests, length, table, prefixes, out):  # type: ignore[no-untyped-def]
    """Hashes and place of every window asked for; returns how many were written to `out`.

    The requests are sorted, and all in reach of `prefixes`: [2, size of out + length].
    """
    first = np.int64(requests[0, 0] >> np.uint64(4)) - base
    final = len(requests) - 1
    last = np.int64(requests[final, 0] >> np.uint64(4)) - base + np.int64(requests[final, 1])
    hash_prefixes(text, first, last + length - 1, table, prefixes)
    count = 0
    for request in requests:
        start = np.int64(request[0] >> np.uint64(4)) - base
        for at in range(start, start + np.int64(request[1])):
            out[count, 0] = hash_stretch(prefixes, 0, at - first, length, table)
            out[count, 1] = hash_stretch(prefixes, 1, at - first, length, table)
            out[count, 2] = _place(text, base, at, length)
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def judge_windows(rows, state, length, cuts):  # type: ignore[no-untyped-def]
    """From sorted windows (two hashes, place) the cuts: all that come again after their first.

    `state`: the first of those being read and a 1, zeros at first. Returns how many were written.
    """
    cut = 0
    for row in rows:
        if state[3] == 0 or row[0] != state[0] or row[1] != state[1]:
            state[:3] = row
            state[3] = 1
        elif _comes_again(row[2], state[2], length):
            cuts[cut, 0], cuts[cut, 1] = _edges_of(row[2], length)
            cut += 1
    return cut


@numba.njit(cache=True, nogil=True)
def join_cuts(rows, state, out):  # type: ignore[no-untyped-def]
    """Unite sorted cuts that touch; `state` is the last one, still open. Returns the count."""
    count = 0
    for row in rows:
        if state[1] and row[0] >> np.uint64(2) <= state[1] >> np.uint64(2):
            state[1] = max(state[1], row[1])
        else:
            if state[1]:
                out[count] = state
                count += 1
            state[:] = row
    return count

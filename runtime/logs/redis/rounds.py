"""One round of the writer: everything that waits, in as few round trips as possible. Runs in a worker thread.

1. Not connected: connect, and put back what the server has lost (healing.py).
2. Claims: read each turn's last id and put up a fence `<epoch+1>-0`. Redis takes it from one claimant only. A claim
   that was not answered and is made again finds its own fence: that is its epoch, and nobody was owner in between.
3. A turn that writes for the first time under an epoch gets its fence the same way: `<epoch>-0`, or it is ours
   already, or the turn belongs to somebody else.
4. All appends in one pipeline. Several of one turn go as a transaction: if the server refuses one (it is out of memory,
   say) and takes the next, the first could never be written any more, since ids only grow. A refused id is looked up:
   the same event means that an earlier try had landed, another one means that the turn has a new owner.
5. Logs whose turn has ended get their time to live.

Each request is settled as soon as its reply is there; whatever is not when the connection breaks was not settled.
"""

from collections.abc import Sequence

from redis.exceptions import ResponseError

from turnwire.messages.entries import EntryId
from turnwire.messages.errors import FencedError, LogUnavailableError
from turnwire.runtime.logs.redis.book import Book
from turnwire.runtime.logs.redis.healing import heal
from turnwire.runtime.logs.redis.lane import Command, Lane, Reply, pack, together
from turnwire.runtime.logs.redis.requests import AnyRequest, Append, AppendRaw, Claim, Expire
from turnwire.runtime.logs.redis.wire import (
    add_event,
    add_fence,
    event_id_of,
    fence_of,
    is_stale_id,
    last_fence,
    last_id,
    look_up,
    parse_id,
    refusal,
)


def run_round(lane: Lane, book: Book, requests: Sequence[AnyRequest], *, now: float) -> None:
    """Do all that is asked. Raises LogUnavailableError when the connection breaks; see which requests are settled.

    Asked for nothing, it sees whether the server is still there and has forgotten nothing.
    """
    try:
        if not lane.is_open:
            lane.open()
            book.counts.connects += 1
            heal(lane, book, now=now)
        elif not requests:
            lane.ask_one(("PING",))
        _do(lane, book, requests, now=now)
    except BaseException:
        lane.close()  # there may be replies on it that nobody has read; and healing is to begin anew
        raise
    book.heard_at = now
    book.trim(now=now)


def _do(lane: Lane, book: Book, requests: Sequence[AnyRequest], *, now: float) -> None:
    _claim(lane, book, [request for request in requests if isinstance(request, Claim)], now)
    appends = [request for request in requests if isinstance(request, Append)]
    _fence(lane, book, appends, now)
    raws = [request for request in requests if isinstance(request, AppendRaw)]
    _append(lane, book, [request for request in appends if not request.is_settled], raws, now)
    for request in requests:
        if isinstance(request, Expire):
            book.end(request.key)
            request.accept()
    expire_ended(lane, book)


def expire_ended(lane: Lane, book: Book) -> None:
    """Give the logs of ended turns their time to live."""
    if book.to_expire:
        keys = tuple(book.to_expire)
        milliseconds = round(book.options.expire_after * 1000)
        lane.ask([("PEXPIRE", key, milliseconds) for key in keys])
        book.to_expire.difference_update(keys)


def _claim(lane: Lane, book: Book, claims: list[Claim], now: float) -> None:
    if not claims:
        return
    new: dict[Claim, str] = {}
    for claim, reply in zip(claims, lane.ask([("XINFO", "STREAM", claim.key) for claim in claims]), strict=True):
        if (last := last_id(reply)) is None:
            claim.refuse(LogUnavailableError(f"turn {claim.turn_id}: Redis refused to tell its last id: {reply}"))
            continue
        claim.epoch = last.major
        if book.settle_claim(claim.key, fence := last_fence(reply)):
            _own(book, claim, fence, now)  # an earlier try had landed, and nobody came after it
        else:
            claim.epoch += 1
            new[claim] = book.claim(claim.key, last)
    fences = [add_fence(claim.key, claim.epoch, token) for claim, token in new.items()]
    for (claim, token), reply in zip(new.items(), lane.ask(fences) if fences else (), strict=True):
        book.settle_claim(claim.key, token if refusal(reply) is None else None)
        if is_stale_id(reply):
            book.counts.fenced += 1
            claim.refuse(FencedError(f"turn {claim.turn_id}: another claim came first"))
        elif (error := refusal(reply)) is not None:
            claim.refuse(LogUnavailableError(f"turn {claim.turn_id}: Redis refused the claim: {error}"))
        else:
            _own(book, claim, token, now)


def _own(book: Book, claim: Claim, token: str | None, now: float) -> None:
    book.own(claim.key, claim.epoch, token, now=now)
    book.counts.claimed += 1
    claim.accept()


def _fence(lane: Lane, book: Book, appends: list[Append], now: float) -> None:
    """Make sure of each turn that writes under an epoch for which we have not seen a fence."""
    for append in appends:
        if book.is_disowned(append.key, append.first.major):
            book.counts.fenced += 1
            append.refuse(_fenced(append))
    unsure = [append for append in appends if not append.is_settled]
    new = {(it.key, it.first.major): it for it in unsure if not book.owns(it.key, it.first.major)}
    if not new:
        return
    tokens = {place: book.new_token() for place in new}
    commands = [
        command
        for (key, epoch), token in tokens.items()
        for command in (add_fence(key, epoch, token), look_up(key, EntryId(epoch, 0)))
    ]
    replies = iter(lane.ask(commands))
    for (key, epoch), token in tokens.items():
        added, found = next(replies), next(replies)
        if book.is_ours(fence_of(found)):
            book.own(key, epoch, token if refusal(added) is None else None, now=now)
            continue
        stale = is_stale_id(added)
        for append in appends:
            if (append.key, append.first.major) == (key, epoch):
                book.counts.fenced += stale
                append.refuse(_fenced(append) if stale else LogUnavailableError(f"Redis refused a fence: {added}"))


def _append(lane: Lane, book: Book, appends: list[Append], raws: list[AppendRaw], now: float) -> None:
    commands: list[Command] = []
    for append in appends:
        commands.extend(append.commands if append.count == 1 else together(append.commands))
    packed = [[pack(add_event(raw.key, event)) for event in raw.events] for raw in raws]
    for events in packed:
        commands.extend(events)
    if not commands:
        return
    book.counts.rounds += 1
    lane.send(commands)
    stale: list[tuple[Append, list[int]]] = []
    for append in appends:
        replies = _receive(lane, append.count)
        if isinstance(replies, ResponseError):
            append.refuse(LogUnavailableError(f"turn {append.turn_id}: Redis refused an entry: {replies}"))
        elif at := [index for index, reply in enumerate(replies) if isinstance(reply, ResponseError)]:
            stale.append((append, at))
        else:
            _accept(book, append, append.count, now)
    for raw, events in zip(raws, packed, strict=True):
        _receive_raw(lane, book, raw, events, now)
    if stale:
        _settle_stale(lane, book, stale, now)


def _receive(lane: Lane, count: int) -> list[Reply] | ResponseError:
    """Give the replies to an append's entries, stale ids among them; or the refusal, if there is another reason."""
    replies = [lane.receive()] if count == 1 else lane.receive_together(count)
    if isinstance(replies, list):
        refusals = (reply for reply in replies if isinstance(reply, ResponseError) and not is_stale_id(reply))
        return next(refusals, replies)
    return replies


def _settle_stale(lane: Lane, book: Book, stale: list[tuple[Append, list[int]]], now: float) -> None:
    """Look up entries whose ids were refused: had they landed, or does the turn have another owner?"""
    replies = iter(lane.ask([look_up(append.key, append.id_at(index)) for append, at in stale for index in at]))
    for append, at in stale:
        found = [event_id_of(next(replies)) == append.event_ids[index] for index in at]
        landed = [*found, False].index(False)  # what comes after the first that is not ours does not count
        done = at[landed] if landed < len(at) else append.count
        book.counts.landed += landed
        if done:
            _accept(book, append, done, now, landed=landed)
        else:
            book.counts.fenced += 1
            append.refuse(_fenced(append))


def _accept(book: Book, append: Append, done: int, now: float, *, landed: int = 0) -> None:
    """Settle an append of which the first entries are in the log; whoever asked will ask for the rest again."""
    book.counts.appended += done - landed
    append.done = done
    is_terminal = append.is_terminal and done == append.count
    book.appended(append.key, append.first, append.commands[:done], is_terminal=is_terminal, now=now)
    append.accept()


def _receive_raw(lane: Lane, book: Book, raw: AppendRaw, commands: Sequence[bytes], now: float) -> None:
    problem: Exception | None = None
    for command in commands:
        reply = lane.receive()
        if (error := refusal(reply)) is not None:
            problem = error
            continue
        entry_id = parse_id(reply)
        raw.ids.append(entry_id)
        book.counts.raw_appended += 1
        book.appended_raw(raw.key, entry_id, command, now=now)
    if problem is not None:
        raw.refuse(LogUnavailableError(f"{raw.key}: Redis refused an event: {problem}"))
        return
    if raw.has_terminal:
        book.end(raw.key)
    raw.accept()


def _fenced(append: Append) -> FencedError:
    return FencedError(f"turn {append.turn_id}: {append.event_ids[0]} was refused; the turn has another owner now")

"""Distances and bounds of a few points or boxes side by side, in vector registers.

A compiler does not find these vectors by itself: it unrolls the short loops first, and cannot
know that what is written is not what is read. So each function is plain Python, and `vectors`
builds the same operations, in the same order for each lane, as instructions of vectors. Each
product and sum is rounded by itself (no fused multiply-add), as in the plain functions.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "LANES",
    "at_least",
    "at_most",
    "far_bounds",
    "far_corners",
    "lowest",
    "near_corners",
    "squares",
    "vectors",
]

LANES = 16
"""Points of a leaf, and children of a node. Vectors of 8 are the widest that processors have."""

_WIDTH = 8


def squares(block: Any, point: Any, out: Any) -> None:
    """Squared distances of points, block of shape (d, LANES), from one, by attributes in turn."""
    for lane in range(LANES):
        total = 0.0
        for j in range(len(point)):
            t = block[j, lane] - point[j]
            total += t * t
        out[lane] = total


def near_corners(low: Any, high: Any, point: Any, out: Any) -> None:
    """Squared distances of boxes, (d, LANES) each, from a point: 0 for a point inside."""
    for lane in range(LANES):
        total = 0.0
        for j in range(len(point)):
            t = max(low[j, lane] - point[j], point[j] - high[j, lane], 0.0)
            total += t * t
        out[lane] = total


def far_corners(low: Any, high: Any, point: Any, out: Any) -> None:
    """Squared distances of the farthest corners of boxes from a point."""
    for lane in range(LANES):
        total = 0.0
        for j in range(len(point)):
            t = max(point[j] - low[j, lane], high[j, lane] - point[j])
            total += t * t
        out[lane] = total


def far_bounds(reach: Any, across: Any, corners: Any, factors: Any, out: Any) -> None:
    """``min(f0 * reach + f1 - f2 * across, corners)`` lane by lane; see `search.farthest_from`."""
    for lane in range(LANES):
        bound = factors[0] * reach[lane] + factors[1] - factors[2] * across[lane]
        out[lane] = min(bound, corners[lane])


def at_most(values: Any, limit: float) -> int:
    """Lanes whose value is at most the limit, as bits; never one whose value is infinite."""
    mask = 0
    for lane in range(LANES):
        if values[lane] <= limit and values[lane] < float("inf"):
            mask |= 1 << lane
    return mask


def at_least(values: Any, limit: float) -> int:
    """Lanes whose value is at least the limit, as bits."""
    mask = 0
    for lane in range(LANES):
        if values[lane] >= limit:
            mask |= 1 << lane
    return mask


def lowest(mask: int) -> int:
    """Place of the lowest bit of a mask that is not 0."""
    return int(mask & -mask).bit_length() - 1


def vectors() -> dict[str, Any]:
    """Build compiled twins of the functions above, by name."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    real = ir.DoubleType()
    bits = ir.IntType(64)
    vector = ir.VectorType(real, _WIDTH)
    zeros = ir.Constant(vector, [0.0] * _WIDTH)

    def spread(builder: Any, value: Any) -> Any:
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, bits(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), _WIDTH), [0] * _WIDTH)
        return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)

    def greater(builder: Any, one: Any, two: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", one, two), one, two)

    def data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if kind.layout != "C":
            msg = "arrays must be C-contiguous"
            raise TypeError(msg)
        return context.make_array(kind)(context, builder, value).data

    def at(builder: Any, pointer: Any, place: Any) -> Any:
        return builder.bitcast(builder.gep(pointer, [place]), vector.as_pointer())

    def summed(term: Any, sources: int) -> Any:
        """Compile a sum over attributes of squares of what `term` makes of the sources."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            tables = [data(context, builder, kinds[i], arguments[i]) for i in range(sources)]
            point = data(context, builder, kinds[sources], arguments[sources])
            out = data(context, builder, kinds[sources + 1], arguments[sources + 1])
            size = context.make_array(kinds[sources])(context, builder, arguments[sources])
            count = cgutils.unpack_tuple(builder, size.shape, 1)[0]
            sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(LANES // _WIDTH)]
            with cgutils.for_range(builder, count) as loop:
                here = spread(builder, builder.load(builder.gep(point, [loop.index])))
                start = builder.mul(loop.index, bits(LANES))
                for part, total in enumerate(sums):
                    place = builder.add(start, bits(part * _WIDTH))
                    loaded = [builder.load(at(builder, t, place), align=8) for t in tables]
                    t = term(builder, here, *loaded)
                    square = builder.fmul(t, t)
                    builder.store(builder.fadd(builder.load(total), square), total)
            for part, total in enumerate(sums):
                builder.store(builder.load(total), at(builder, out, bits(part * _WIDTH)), align=8)
            return context.get_dummy_value()

        return generate

    def inside(builder: Any, here: Any, low: Any, high: Any) -> Any:
        t = greater(builder, builder.fsub(low, here), builder.fsub(here, high))
        return greater(builder, t, zeros)

    def outside(builder: Any, here: Any, low: Any, high: Any) -> Any:
        return greater(builder, builder.fsub(here, low), builder.fsub(high, here))

    def apart(builder: Any, here: Any, place: Any) -> Any:
        return builder.fsub(place, here)

    def bounded(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pairs = zip(signature.args, arguments, strict=True)
        *tables, factors, out = (data(context, builder, kind, value) for kind, value in pairs)
        f0, f1, f2 = (
            spread(builder, builder.load(builder.gep(factors, [bits(i)]))) for i in range(3)
        )
        for part in range(LANES // _WIDTH):
            place = bits(part * _WIDTH)
            reach, across, corners = (builder.load(at(builder, t, place), align=8) for t in tables)
            bound = builder.fadd(builder.fmul(f0, reach), f1)
            bound = builder.fsub(bound, builder.fmul(f2, across))
            least = builder.select(builder.fcmp_ordered("<", corners, bound), corners, bound)
            builder.store(least, at(builder, out, place), align=8)
        return context.get_dummy_value()

    def compared(sign: str, *, finite: bool) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values = data(context, builder, signature.args[0], arguments[0])
            limit = spread(builder, arguments[1])
            endless = ir.Constant(vector, [float("inf")] * _WIDTH)
            mask = bits(0)
            for part in range(LANES // _WIDTH):
                loaded = builder.load(at(builder, values, bits(part * _WIDTH)), align=8)
                holds = builder.fcmp_ordered(sign, loaded, limit)
                if finite:
                    holds = builder.and_(holds, builder.fcmp_ordered("<", loaded, endless))
                found = builder.zext(builder.bitcast(holds, ir.IntType(_WIDTH)), bits)
                mask = builder.or_(mask, builder.shl(found, bits(part * _WIDTH)))
            return mask

        return generate

    one_table = summed(apart, 1)
    near, far = summed(inside, 2), summed(outside, 2)
    most, least = compared("<=", finite=True), compared(">=", finite=False)

    def squares(_context: Any, block: Any, point: Any, out: Any) -> Any:
        return types.void(block, point, out), one_table

    def near_corners(_context: Any, low: Any, high: Any, point: Any, out: Any) -> Any:
        return types.void(low, high, point, out), near

    def far_corners(_context: Any, low: Any, high: Any, point: Any, out: Any) -> Any:
        return types.void(low, high, point, out), far

    def far_bounds(
        _context: Any, reach: Any, across: Any, corners: Any, factors: Any, out: Any
    ) -> Any:
        return types.void(reach, across, corners, factors, out), bounded

    def at_most(_context: Any, values: Any, limit: Any) -> Any:
        return types.int64(values, types.float64), most

    def at_least(_context: Any, values: Any, limit: Any) -> Any:
        return types.int64(values, types.float64), least

    def lowest(_context: Any, mask: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], cgutils.true_bit)

        return types.int64(types.int64), generate

    made = (squares, near_corners, far_corners, far_bounds, at_most, at_least, lowest)
    return {f.__name__: intrinsic(f) for f in made}

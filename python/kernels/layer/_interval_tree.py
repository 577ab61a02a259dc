# SPDX-License-Identifier: Apache-2.0
"""A set of closed integer intervals with a datum each, as a balanced tree.

The mapping itself keeps its intervals in C (kernels/mapping.h); this class is for programs that use it by name.
"""

from typing import Generic, TypeVar

T = TypeVar("T")


class _Node(Generic[T]):
    """An interval, and the greatest end of all below it."""

    def __init__(self, start: int, end: int, data: T):
        self.start = start
        self.end = end
        self.data = data
        self.left: "_Node[T] | None" = None
        self.right: "_Node[T] | None" = None
        self.height = 1
        self.max_end = end

    def __repr__(self) -> str:
        return f"_Node([{self.start}, {self.end}])"


class IntervalTree(Generic[T]):
    """Intervals ordered by start, then end. Both ends belong to an interval.

    tree = IntervalTree()
    tree.insert(80, 89, "a")
    tree.find_smallest_interval(86)  # "a"
    """

    def __init__(self):
        self.root: _Node[T] | None = None

    def insert(self, start: int, end: int, data: T) -> None:
        """Adds an interval, or replaces the datum of an equal one."""
        self.root = self._insert(self.root, start, end, data)

    def search(self, point: int) -> list[T]:
        """The data of all intervals that hold the point."""
        return [node.data for node in self._nodes_with(point)]

    def find_smallest_interval(self, point: int) -> T | None:
        """The datum of the narrowest of them; of equally narrow ones, of that which starts higher. None: no interval."""
        found = self._nodes_with(point)
        return min(found, key=lambda node: (node.end - node.start, -node.start)).data if found else None

    def _nodes_with(self, point: int) -> list[_Node[T]]:
        found, waiting = [], [self.root]
        while waiting:
            node = waiting.pop()
            if node is None or node.max_end < point:
                continue
            waiting.append(node.left)
            if node.start <= point:
                waiting.append(node.right)
                if point <= node.end:
                    found.append(node)
        return found

    def _insert(self, node: _Node[T] | None, start: int, end: int, data: T) -> _Node[T]:
        if node is None:
            return _Node(start, end, data)
        if (start, end) == (node.start, node.end):
            node.data = data
            return node
        if (start, end) < (node.start, node.end):
            node.left = self._insert(node.left, start, end, data)
        else:
            node.right = self._insert(node.right, start, end, data)
        return _balanced(node)


def _height(node: _Node | None) -> int:
    return node.height if node else 0


def _update(node: _Node) -> _Node:
    below = [child for child in (node.left, node.right) if child]
    node.height = 1 + max((child.height for child in below), default=0)
    node.max_end = max([node.end, *(child.max_end for child in below)])
    return node


def _rotated_right(node: _Node) -> _Node:
    top = node.left
    node.left, top.right = top.right, node
    _update(node)
    return _update(top)


def _rotated_left(node: _Node) -> _Node:
    top = node.right
    node.right, top.left = top.left, node
    _update(node)
    return _update(top)


def _balanced(node: _Node) -> _Node:
    """The node that takes the place of this one, so that the heights of its children differ by one at most."""
    balance = _height(node.left) - _height(node.right)
    if balance > 1:
        if _height(node.left.left) < _height(node.left.right):
            node.left = _rotated_left(node.left)
        return _rotated_right(node)
    if balance < -1:
        if _height(node.right.right) < _height(node.right.left):
            node.right = _rotated_right(node.right)
        return _rotated_left(node)
    return _update(node)

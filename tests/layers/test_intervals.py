# SPDX-License-Identifier: Apache-2.0
"""IntervalTree, the class; the mapping's own intervals are tested in tests/unit/resolve/mapping_test.c."""
import random

from kernels.layer._interval_tree import IntervalTree, _Node


def test_vectors(vectors, counted):
    sequences = vectors("interval_tree.json")["sequences"]
    assert len(sequences) == 43
    counted((query for sequence in sequences for query in sequence["queries"]), 731)
    for sequence in sequences:
        tree = IntervalTree()
        for start, end, data in sequence["inserts"]:
            tree.insert(start, end, data)
        for query in sequence["queries"]:
            assert sorted(tree.search(query["point"])) == query["search"], sequence["name"]
            assert tree.find_smallest_interval(query["point"]) == query["smallest"], sequence["name"]


def check(node):
    """Height of a subtree; everything about it is as it should be."""
    if node is None:
        return 0
    assert isinstance(node, _Node)
    left, right = check(node.left), check(node.right)
    assert abs(left - right) <= 1 and node.height == 1 + max(left, right)
    ends = [child.max_end for child in (node.left, node.right) if child]
    assert node.max_end == max([node.end, *ends])
    return node.height


def test_it_stays_balanced():
    numbers = random.Random(3)
    for order in (sorted, lambda items: sorted(items, reverse=True), list):
        tree = IntervalTree()
        intervals = [(start, start + numbers.randrange(5)) for start in (numbers.randrange(60) for _ in range(200))]
        for start, end in order(intervals):
            tree.insert(start, end, (start, end))
        check(tree.root)
        for point in range(-1, 70):
            held = sorted({each for each in intervals if each[0] <= point <= each[1]})
            assert sorted(tree.search(point)) == held


def test_an_equal_interval_is_replaced():
    tree = IntervalTree()
    for end, data in ((81, "a"), (82, "b"), (83, "c"), (81, "a2")):
        tree.insert(80, end, data)
    assert sorted(tree.search(81)) == ["a2", "b", "c"]
    assert "80, 82" in repr(tree.root)

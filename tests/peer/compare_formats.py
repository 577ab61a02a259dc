#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kernels._rust against the released peer on generated inputs: the same verdict and the same content, or a difference
that docs/compatibility.md names (./run compare).

    compare_formats.py --peer PYTHON --ours FOLDER [--count N] [--seed N]

PYTHON is an interpreter with the peer installed, FOLDER holds our package `kernels`. Inputs are vectors of tests/data,
changed at random: characters, words, lines and whole values are dropped, repeated and exchanged.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"


# ---- the child: what a module makes of each input ----


def metadata_facts(one):
    def git(status):
        return status and [status.commit, status.dirty]

    digest, provenance = one.digest, one.provenance
    return [one.id, str(one.name), one.version, one.kernels_minver and str(one.kernels_minver), one.license,
            one.upstream, one.source, one.python_depends, list(map(repr, one.kernel_depends)), repr(one.backend),
            digest and [str(digest.algorithm), digest.files], repr(digest),
            provenance and [provenance.kernel_builder.version, git(provenance.kernel_builder.git),
                            git(provenance.kernel), provenance.dirty], repr(provenance)]


def make_tree(folder, entries):
    for path, kind, content in entries:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or target.exists():
            continue
        if kind == "link":
            target.symlink_to(content)
        elif kind == "folder":
            target.mkdir()
        else:
            target.write_text(content)


def evaluate(k, kind, value):
    if kind == "version":
        return [str(k.Version.from_str(value)), repr(k.Version.from_str(value))]
    if kind == "order":
        a, b = map(k.Version.from_str, value)
        return [a == b, a < b, a <= b, a > b, a >= b]
    if kind == "name":
        return [repr(k.KernelName(value)), k.KernelName(value).python_name]
    if kind == "backend":
        return repr(k.Backend.from_str(value))
    if kind == "oid":
        return k.KernelLock(value).commit
    if kind == "metadata":
        return metadata_facts(k.Metadata.from_bytes(value.encode("utf-8", "surrogatepass")))
    if kind in ("KernelLocks", "NixKernelLocks", "KernelPaths", "KernelLock", "NixKernelLock"):
        one = getattr(k, kind).from_json(value)
        return [repr(one), one.to_json()]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if kind == "build":
            (folder / "build.toml").write_text(value)
            build = k.Build.open(folder)
            backends = map(k.Backend.from_str, "cann cpu cuda metal neuron rocm tpu xpu".split())
            return [list(map(str, build.general.backends)),
                    [list(map(repr, build.all_kernel_depends(one))) for one in backends]]
        make_tree(folder / "v", value)
        digest = k.Digest.hash_variant(k.DigestAlgorithm.SHA512, folder / "v")
        return [digest.files, repr(digest)]


def child():
    import kernels._rust as k

    for line in sys.stdin:
        kind, value = json.loads(line)
        try:
            result = ["ok", evaluate(k, kind, value)]
        except Exception as error:  # only the class is compared
            result = ["error", "OSError" if isinstance(error, OSError) else type(error).__name__]
        print(json.dumps(result), flush=True)


# ---- inputs ----

WORDS = ["1", "0", "-1", "1.0", '""', '"x"', "true", "null", "[]", "{}", "12.8", '"12.8"', '"0.17.0"', "5", "4",
         '"tpu"', '"cuda"', '"ab"', "18446744073709551615", "18446744073709551616", "1e3", '"é"', '"a/b"',
         '"0123456789abcdef0123456789abcdef01234567"', "edition", "version", "revision", "commit", "sha", "dirty"]
CHARACTERS = list("abz019.-+_ \t\n\"'\\/:,[]{}=#") + ["é", "\u2003", "\x00", "\x7f", "٣", "\ufeff"]


def words_of(text):
    return list(re.finditer(r'"[^"\n]*"|[\w.-]+|[^\s]', text))


def gentle(dice, text, pool):
    """A change that often leaves a valid text: blanks, order of lines, another value of the same sort."""
    lines, words = text.split("\n"), words_of(text)
    chosen = dice.choice(words) if words else None
    match dice.randrange(6):
        case 0 if chosen:
            return text[:chosen.start()] + dice.choice([" ", "  ", "\t"]) + text[chosen.start():]
        case 1 if len(lines) > 1:
            at = dice.randrange(len(lines) - 1)
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
            return "\n".join(lines)
        case 2 if len(lines) > 2:
            del lines[dice.randrange(len(lines))]
            return "\n".join(lines)
        case 3 if chosen and chosen.group()[0] == '"' and len(chosen.group()) > 2:
            at = dice.randrange(chosen.start() + 1, chosen.end() - 1)
            return text[:at] + dice.choice(CHARACTERS) + text[at + 1:]
        case _ if chosen:
            same = [word for word in pool if word[0].isdigit() == chosen.group()[0].isdigit()
                    and (word[0] == '"') == (chosen.group()[0] == '"')]
            return text[:chosen.start()] + dice.choice(same or [chosen.group()]) + text[chosen.end():]
    return text


def change(dice, text, pool):
    """A text with one change."""
    if dice.random() < 0.7:
        return gentle(dice, text, pool)
    if not text:
        return dice.choice(WORDS)
    at = dice.randrange(len(text))
    lines, words = text.split("\n"), words_of(text)
    match dice.randrange(8):
        case 0:
            return text[:at] + text[at + 1:]
        case 1:
            return text[:at] + dice.choice(CHARACTERS) + text[at:]
        case 2:
            return text[:at] + dice.choice(CHARACTERS) + text[at + 1:]
        case 3:
            del lines[dice.randrange(len(lines))]
            return "\n".join(lines)
        case 4:
            lines.insert(dice.randrange(len(lines) + 1), dice.choice(lines))
            return "\n".join(lines)
        case 5 | 6 if words:
            word = dice.choice(words)
            return text[:word.start()] + dice.choice(WORDS) + text[word.end():]
        case 7 if len(words) > 1:
            a, b = sorted(dice.sample(words, 2), key=lambda word: word.start())
            return text[:a.start()] + b.group() + text[a.end():b.start()] + a.group() + text[b.end():]
    return text


def read(name):
    return json.loads((DATA / name).read_text())


def seeds():
    """kind -> (texts that the release accepts, others)."""
    found = {}

    def add(kind, rows, key="input", accepted=lambda row: "ok" in row):
        lists = found.setdefault(kind, ([], []))
        for row in rows:
            lists[0 if accepted(row) else 1].append(row[key])

    add("version", read("release17/version.json")["cases"])
    add("name", read("release17/kernel_name.json")["cases"])
    add("backend", read("release17/backend.json")["cases"])
    add("oid", read("release17/oid.json")["cases"])
    add("metadata", read("release17/metadata.json")["cases"], "json")
    add("build", read("release17/build_toml.json")["cases"], "toml")
    add("build", [{"toml": (DATA / "data" / row["file"]).read_text(errors="replace"), **row["want"]}
                  for row in read("data/build_toml/cases.json")], "toml", lambda row: row["parse"] == "ok")
    for file in ("kernel_lock_json", "kernel_locks_json", "kernel_paths_json"):
        for function, cases in read(f"release17/{file}.json").items():
            if function != "peer":
                add(function.split(".")[0], cases, "json")
    return found


def tree(dice):
    names = ["a.py", "b.so", "metadata.json", "metadata.json.sigstore", "__pycache__", "x.pyc", ".pyc", "A.PYC", "é", " ",
             ".hidden", "a\\b"]
    entries = []
    for _ in range(dice.randrange(8)):
        path = "/".join(dice.choice(names) for _ in range(dice.randrange(1, 4)))
        kind = dice.choice(["file"] * 6 + ["link", "folder"])
        entries.append([path, kind, dice.choice(names) if kind == "link" else dice.choice(["", "x", "hello\n"])])
    # a path may not go through what is a file or a link of another entry
    taken = {path for path, kind, _ in entries if kind != "folder"}
    return [entry for entry in entries
            if not any("/".join(entry[0].split("/")[:i]) in taken for i in range(1, entry[0].count("/") + 1))]


def make_inputs(count, seed):
    dice, start = random.Random(seed), seeds()
    pools = {kind: [word.group() for text in sum(lists, []) for word in words_of(text)] for kind, lists in start.items()}
    kinds = ["metadata"] * 8 + ["build"] * 8 + ["digest"] * 2 + [kind for kind in start if kind not in ("metadata", "build")]
    kinds.append("order")
    inputs = []
    while len(inputs) < count:
        kind = dice.choice(kinds)
        if kind == "digest":
            inputs.append((kind, tree(dice)))
        elif kind == "order":
            inputs.append((kind, [dice.choice(start["version"][0]), dice.choice(start["version"][0])]))
        else:
            accepted, others = start[kind]
            text = dice.choice(accepted if not others or dice.random() < 0.85 else others)
            for _ in range(dice.choice([0, 1, 1, 1, 2, 3])):
                text = change(dice, text, pools[kind])
            inputs.append((kind, text))
    return inputs


# ---- differences that are meant: headings of docs/compatibility.md ----


def meant(kind, value, ours, peer):
    refused = ours[0] == "error" and peer[0] == "ok"
    accepted = ours[0] == "ok" and peer[0] == "error"
    text = value if isinstance(value, str) else json.dumps(value)
    if refused and ("\x00" in text or "\\u0000" in text):
        return "Strings with NUL"
    if refused and kind not in ("build", "digest") and re.search(r"\[\s*[\[\"]", text):
        return "Objects given as arrays"
    if kind == "build" and refused and re.search("torch|tvm-ffi", text) and "edition" not in text:
        return "Broken framework sections"
    if kind == "build" and accepted and re.search("(cuda|rocm)[-_](capabilities|archs)", text):
        return "Both spellings"
    if kind == "metadata" and ours[0] == peer[0] == "ok" and not text.isascii() and "xn--" in json.dumps(peer):
        return "International host names"
    if kind == "digest" and refused and "\\\\" in text:
        return "Clashing file names"
    return None


# ---- the whole ----


def ask(command, inputs, env):
    lines = "".join(json.dumps(one) + "\n" for one in inputs)
    done = subprocess.run([*command, str(pathlib.Path(__file__)), "--child"], input=lines, text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **env})
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(inputs), f"{command} answered {len(results)} of {len(inputs)}"
    return results


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--peer")
    parser.add_argument("--ours")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.child:
        child()
        return 0
    inputs = make_inputs(options.count, options.seed)
    ours, peer = (ask([options.peer], inputs, env) for env in ({"PYTHONPATH": options.ours}, {"PYTHONPATH": ""}))
    differences, accepted, unexplained = collections.Counter(), 0, 0
    for (kind, value), a, b in zip(inputs, ours, peer):
        accepted += b[0] == "ok"
        if a == b:
            continue
        name = meant(kind, value, a, b)
        differences[name] += 1
        if name is None:
            unexplained += 1
            print(f"--- {kind}\n{value}\nours: {a}\npeer: {b}")
    for name, count in sorted((item for item in differences.items() if item[0]), key=str):
        print(f"{count:5} meant: {name}")
    print(f"{len(inputs)} inputs, of which the peer accepts {accepted}; {sum(differences.values()) - unexplained} meant "
          f"differences, {unexplained} others")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

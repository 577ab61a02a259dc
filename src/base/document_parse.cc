/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only C++ file: JSON through RapidJSON's iterative SAX reader, TOML through toml++, both into our
 * arena documents. The libraries are header-only; nothing of them leaves this file, no exception either.
 */
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "base/document.h"
#include "base/error.h"
#include "base/view.h"
}

#define RAPIDJSON_ASSERT(x) ((void)(x))
#define RAPIDJSON_HAS_STDSTRING 0
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_UNRELEASED_FEATURES 0
#define TOML_MAX_NESTED_VALUES KERNELS_TOML_DEPTH_LIMIT
#include <toml++/toml.h>

namespace {

kernels_view make_view(const char *data, size_t size) {
    kernels_view view;
    view.data = data;
    view.size = size;
    return view;
}

kernels_node *new_node(kernels_arena *arena, kernels_node_type type) {
    auto *node = static_cast<kernels_node *>(kernels_arena_allocate(arena, sizeof(kernels_node)));
    if (node) {
        node->type = type;
    }
    return node;
}

/* Copies items to the arena; count 0 gives NULL, which is fine. */
template <typename T> bool copy_array(kernels_arena *arena, const T *items, size_t count, T **copy) {
    *copy = static_cast<T *>(kernels_arena_array(arena, count, sizeof(T)));
    if (*copy && count) {
        std::memcpy(static_cast<void *>(*copy), items, count * sizeof(T));
    }
    return *copy != nullptr;
}

/* ---- numbers ---- */

/* A JSON or TOML integer text becomes UNSIGNED or NEGATIVE when it fits, else NUMBER with its text. */
void set_number(kernels_node *node, kernels_view text) {
    uint64_t value = 0;
    kernels_view digits = text;
    bool negative = text.size > 0 && text.data[0] == '-';
    if (negative) {
        digits = kernels_view_slice(text, 1, text.size);
    }
    if (kernels_view_to_u64(digits, &value)) {
        if (!negative) {
            node->type = KERNELS_NODE_UNSIGNED;
            node->as.unsigned_value = value;
            return;
        }
        if (value > 0 && value <= static_cast<uint64_t>(INT64_MAX) + 1) {
            node->type = KERNELS_NODE_NEGATIVE;
            node->as.negative = static_cast<int64_t>(-static_cast<int64_t>(value - 1) - 1);
            return;
        }
    }
    node->type = KERNELS_NODE_NUMBER;
    node->as.text = text;
}

/* ---- JSON ---- */

/* Memory stream that knows its offset; the line is counted once, when a position is wanted. */
class PositionTracker {
  public:
    explicit PositionTracker(kernels_view text) : text_(text) {}
    /* offsets come in ascending order, so the whole document is scanned once */
    kernels_position at(size_t offset) {
        for (; scanned_ < offset && scanned_ < text_.size; scanned_++) {
            if (text_.data[scanned_] == '\n') {
                line_++;
                line_begin_ = scanned_ + 1;
            }
        }
        kernels_position position;
        position.line = line_;
        position.column = static_cast<uint32_t>(offset - line_begin_ + 1);
        return position;
    }

  private:
    kernels_view text_;
    size_t scanned_ = 0, line_begin_ = 0;
    uint32_t line_ = 1;
};

struct Frame {
    kernels_node *node;
    std::vector<kernels_member> members;
    std::vector<kernels_node *> items;
};

class JsonBuilder {
  public:
    using Ch = char;
    JsonBuilder(kernels_arena *arena, kernels_view text, rapidjson::MemoryStream *stream)
        : arena_(arena), text_(text), stream_(stream), positions_(text) {}

    kernels_node *root = nullptr;
    bool out_of_memory = false, too_deep = false;

    bool Null() { return add(new_node(arena_, KERNELS_NODE_NULL), 4); }
    bool Bool(bool value) {
        kernels_node *node = new_node(arena_, KERNELS_NODE_BOOLEAN);
        if (node) {
            node->as.boolean = value;
        }
        return add(node, value ? 4 : 5);
    }
    bool RawNumber(const char *data, rapidjson::SizeType size, bool) {
        kernels_node *node = new_node(arena_, KERNELS_NODE_NUMBER);
        kernels_view copy = kernels_arena_copy_view(arena_, make_view(data, size));
        if (!node || !copy.data) {
            return no_memory();
        }
        set_number(node, copy);
        return add(node, size);
    }
    bool String(const char *data, rapidjson::SizeType size, bool) {
        kernels_node *node = new_node(arena_, KERNELS_NODE_STRING);
        kernels_view copy = kernels_arena_copy_view(arena_, make_view(data, size));
        if (!node || !copy.data) {
            return no_memory();
        }
        node->as.text = copy;
        return add(node, string_source_size());
    }
    bool Key(const char *data, rapidjson::SizeType size, bool) {
        kernels_member member = {};
        member.key = kernels_arena_copy_view(arena_, make_view(data, size));
        if (!member.key.data) {
            return no_memory();
        }
        member.key_position = positions_.at(offset() - string_source_size());
        stack_.back().members.push_back(member);
        return true;
    }
    bool StartObject() { return open(KERNELS_NODE_OBJECT); }
    bool StartArray() { return open(KERNELS_NODE_ARRAY); }
    bool EndObject(rapidjson::SizeType) {
        Frame &frame = stack_.back();
        frame.node->count = frame.members.size();
        return close(copy_array(arena_, frame.members.data(), frame.members.size(), &frame.node->as.members));
    }
    bool EndArray(rapidjson::SizeType) {
        Frame &frame = stack_.back();
        frame.node->count = frame.items.size();
        return close(copy_array(arena_, frame.items.data(), frame.items.size(), &frame.node->as.items));
    }
    /* the other forms of numbers never come with kParseNumbersAsStringsFlag */
    bool Int(int) { return false; }
    bool Uint(unsigned) { return false; }
    bool Int64(int64_t) { return false; }
    bool Uint64(uint64_t) { return false; }
    bool Double(double) { return false; }

  private:
    size_t offset() const { return stream_->Tell(); }
    bool no_memory() {
        out_of_memory = true;
        return false;
    }
    /* Length of the string literal that ends at the current offset, with its quotes. */
    size_t string_source_size() const {
        size_t end = offset(), begin = end - 1;
        while (begin > 0) {
            begin--;
            if (text_.data[begin] == '"') {
                size_t backslashes = 0;
                while (begin > backslashes && text_.data[begin - 1 - backslashes] == '\\') {
                    backslashes++;
                }
                if (backslashes % 2 == 0) {
                    break;
                }
            }
        }
        return end - begin;
    }
    bool attach(kernels_node *node) {
        if (stack_.empty()) {
            root = node;
        } else if (stack_.back().node->type == KERNELS_NODE_OBJECT) {
            stack_.back().members.back().value = node;
        } else {
            stack_.back().items.push_back(node);
        }
        return true;
    }
    bool add(kernels_node *node, size_t source_size) {
        if (!node) {
            return no_memory();
        }
        size_t end = offset();
        node->begin = positions_.at(end > source_size ? end - source_size : 0);
        node->end = positions_.at(end);
        return attach(node);
    }
    bool open(kernels_node_type type) {
        if (stack_.size() >= KERNELS_JSON_DEPTH_LIMIT) {
            too_deep = true;
            return false;
        }
        kernels_node *node = new_node(arena_, type);
        if (!node) {
            return no_memory();
        }
        node->begin = positions_.at(offset()); /* the reader has not taken the bracket yet */
        attach(node);
        stack_.push_back(Frame{node, {}, {}});
        return true;
    }
    bool close(bool copied) {
        if (!copied) {
            return no_memory();
        }
        stack_.back().node->end = positions_.at(offset() + 1);
        stack_.pop_back();
        return true;
    }

    kernels_arena *arena_;
    kernels_view text_;
    rapidjson::MemoryStream *stream_;
    PositionTracker positions_;
    std::vector<Frame> stack_;
};

kernels_status json_failure(const JsonBuilder &builder, const rapidjson::ParseResult &result, kernels_view text,
                            const char *name, kernels_error *error) {
    if (builder.out_of_memory) {
        return kernels_fail_no_memory(error);
    }
    kernels_position at = PositionTracker(text).at(result.Offset());
    if (builder.too_deep) {
        return kernels_fail(error, KERNELS_LIMIT, "%s:%u:%u: nested deeper than %d levels", name, at.line, at.column,
                            KERNELS_JSON_DEPTH_LIMIT);
    }
    return kernels_fail(error, KERNELS_SYNTAX, "%s:%u:%u: invalid JSON: %s", name, at.line, at.column,
                        rapidjson::GetParseError_En(result.Code()));
}

kernels_status parse_json(kernels_view text, const char *name, kernels_document *document, kernels_error *error) {
    using namespace rapidjson;
    constexpr unsigned flags = kParseIterativeFlag | kParseNumbersAsStringsFlag | kParseValidateEncodingFlag;
    kernels_arena *arena = kernels_arena_new(0);
    if (!arena) {
        return kernels_fail_no_memory(error);
    }
    MemoryStream stream(text.data ? text.data : "", text.size);
    JsonBuilder builder(arena, text, &stream);
    Reader reader;
    ParseResult result = reader.Parse<flags>(stream, builder);
    if (!result) {
        kernels_status status = json_failure(builder, result, text, name, error);
        kernels_arena_free(arena);
        return status;
    }
    document->arena = arena;
    document->root = builder.root;
    return KERNELS_OK;
}

/* ---- TOML ---- */

kernels_position position_of(const toml::source_position &source) {
    kernels_position position;
    position.line = source.line;
    position.column = source.column;
    return position;
}

/* toml++ counts columns in characters and orders tables by key; we want bytes and source order. */
class TomlBuilder {
  public:
    TomlBuilder(kernels_arena *arena, kernels_view text) : arena_(arena), text_(text) {
        line_begins_.push_back(0);
        for (size_t i = 0; i < text.size; i++) {
            if (text.data[i] == '\n') {
                line_begins_.push_back(i + 1);
            }
        }
    }

    /* Depth is bounded by TOML_MAX_NESTED_VALUES of the parser and by the dotted keys limit below. */
    kernels_node *build(const toml::node &source, unsigned depth) {
        if (depth > 2 * KERNELS_TOML_DEPTH_LIMIT) {
            too_deep = true;
            return nullptr;
        }
        kernels_node *node = make(source, depth);
        if (node) {
            node->begin = byte_position(source.source().begin);
            node->end = byte_position(source.source().end);
        }
        return node;
    }

    bool too_deep = false;

  private:
    kernels_position byte_position(const toml::source_position &source) const {
        kernels_position position = position_of(source);
        if (source.line == 0 || source.line > line_begins_.size()) {
            return position;
        }
        size_t at = line_begins_[source.line - 1], begin = at;
        for (uint32_t column = 1; column < source.column && at < text_.size; column++) {
            at++;
            while (at < text_.size && (static_cast<unsigned char>(text_.data[at]) & 0xC0) == 0x80) {
                at++;
            }
        }
        position.column = static_cast<uint32_t>(at - begin + 1);
        return position;
    }

    kernels_node *make(const toml::node &source, unsigned depth) {
        switch (source.type()) {
        case toml::node_type::table:
            return table(*source.as_table(), depth);
        case toml::node_type::array:
            return array(*source.as_array(), depth);
        case toml::node_type::string:
            return text(KERNELS_NODE_STRING, source.as_string()->get());
        case toml::node_type::integer:
            return integer(source.as_integer()->get());
        case toml::node_type::floating_point:
            return as_written(KERNELS_NODE_NUMBER, source);
        case toml::node_type::boolean: {
            kernels_node *node = new_node(arena_, KERNELS_NODE_BOOLEAN);
            if (node) {
                node->as.boolean = source.as_boolean()->get();
            }
            return node;
        }
        default:
            return as_written(KERNELS_NODE_DATE, source);
        }
    }

    kernels_node *text(kernels_node_type type, const std::string &value) {
        kernels_node *node = new_node(arena_, type);
        kernels_view copy = kernels_arena_copy_view(arena_, make_view(value.data(), value.size()));
        if (!node || !copy.data) {
            return nullptr;
        }
        node->as.text = copy;
        return node;
    }

    kernels_node *integer(int64_t value) {
        kernels_node *node = new_node(arena_, value < 0 ? KERNELS_NODE_NEGATIVE : KERNELS_NODE_UNSIGNED);
        if (node && value < 0) {
            node->as.negative = value;
        } else if (node) {
            node->as.unsigned_value = static_cast<uint64_t>(value);
        }
        return node;
    }

    size_t offset_of(const toml::source_position &source) const {
        kernels_position position = byte_position(source);
        return position.line == 0 || position.line > line_begins_.size()
                   ? text_.size
                   : line_begins_[position.line - 1] + position.column - 1;
    }

    /* Floats and dates keep the text of the source. */
    kernels_node *as_written(kernels_node_type type, const toml::node &source) {
        kernels_view written =
            kernels_view_slice(text_, offset_of(source.source().begin), offset_of(source.source().end));
        return text(type, std::string(written.data, written.size));
    }

    kernels_node *array(const toml::array &source, unsigned depth) {
        kernels_node *node = new_node(arena_, KERNELS_NODE_ARRAY);
        std::vector<kernels_node *> items;
        for (const toml::node &child : source) {
            kernels_node *item = build(child, depth + 1);
            if (!item) {
                return nullptr;
            }
            items.push_back(item);
        }
        if (!node || !copy_array(arena_, items.data(), items.size(), &node->as.items)) {
            return nullptr;
        }
        node->count = items.size();
        return node;
    }

    kernels_node *table(const toml::table &source, unsigned depth) {
        kernels_node *node = new_node(arena_, KERNELS_NODE_OBJECT);
        std::vector<kernels_member> members;
        for (auto &&[key, child] : source) {
            kernels_member member = {};
            std::string_view name = key.str();
            member.key = kernels_arena_copy_view(arena_, make_view(name.data(), name.size()));
            member.key_position = byte_position(key.source().begin);
            member.value = build(child, depth + 1);
            if (!member.key.data || !member.value) {
                return nullptr;
            }
            members.push_back(member);
        }
        std::stable_sort(members.begin(), members.end(), [](const kernels_member &a, const kernels_member &b) {
            return a.key_position.line != b.key_position.line ? a.key_position.line < b.key_position.line
                                                              : a.key_position.column < b.key_position.column;
        });
        if (!node || !copy_array(arena_, members.data(), members.size(), &node->as.members)) {
            return nullptr;
        }
        node->count = members.size();
        return node;
    }

    kernels_arena *arena_;
    kernels_view text_;
    std::vector<size_t> line_begins_;
};

/* Dotted keys and headers nest without brackets, so the parser's own limit does not see them. */
bool has_deep_keys(kernels_view text) {
    size_t dots = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\n') {
            dots = 0;
        } else if (text.data[i] == '.' && ++dots > 16 * KERNELS_TOML_DEPTH_LIMIT) {
            return true;
        }
    }
    return false;
}

kernels_status parse_toml(kernels_view text, const char *name, kernels_document *document, kernels_error *error) {
    if (!kernels_view_is_utf8(text)) {
        return kernels_fail(error, KERNELS_NOT_UTF8, "%s: the file is not UTF-8 text", name);
    }
    if (has_deep_keys(text)) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: a key has too many parts", name);
    }
    toml::parse_result result = toml::parse(std::string_view(text.data ? text.data : "", text.size), std::string(name));
    if (!result) {
        const toml::parse_error &failure = result.error();
        kernels_position at = position_of(failure.source().begin);
        std::string reason(failure.description());
        return kernels_fail(error, KERNELS_SYNTAX, "%s:%u:%u: invalid TOML: %s", name, at.line, at.column,
                            reason.c_str());
    }
    kernels_arena *arena = kernels_arena_new(0);
    if (!arena) {
        return kernels_fail_no_memory(error);
    }
    TomlBuilder builder(arena, text);
    kernels_node *root = builder.build(result.table(), 0);
    if (!root) {
        kernels_arena_free(arena);
        return builder.too_deep ? kernels_fail(error, KERNELS_LIMIT, "%s: nested too deeply", name)
                                : kernels_fail_no_memory(error);
    }
    document->arena = arena;
    document->root = root;
    return KERNELS_OK;
}

template <typename Parse>
kernels_status guarded(Parse parse, kernels_view text, const char *name, kernels_document *document,
                       kernels_error *error) {
    if (text.size > KERNELS_DOCUMENT_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: larger than the limit of %zu bytes", name,
                            KERNELS_DOCUMENT_SIZE_LIMIT);
    }
    try { /* std::bad_alloc must not cross into C */
        return parse(text, name, document, error);
    } catch (...) {
        return kernels_fail_no_memory(error);
    }
}

} // namespace

extern "C" kernels_status kernels_json_parse(kernels_view text, const char *name, kernels_document *document,
                                             kernels_error *error) {
    return guarded(parse_json, text, name, document, error);
}

extern "C" kernels_status kernels_toml_parse(kernels_view text, const char *name, kernels_document *document,
                                             kernels_error *error) {
    return guarded(parse_toml, text, name, document, error);
}

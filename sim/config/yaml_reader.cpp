// Reads YAML strictly, from yaml-cpp's events: yaml-cpp's own tree forgets duplicate keys.

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "sim/config/text_check.h"
#include "sim/config/tree.h"
#include "sim/config/yaml_messages.h"

namespace xpusim::config {

namespace {

bool looks_octal(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Position behind the closing quote of the quoted text that starts at `begin`; npos if it is not
/// closed, which yaml-cpp does not mind.
std::size_t end_of_quoted(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == quote) {
      const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return i + 1;
      ++i;
    }
  }
  return std::string_view::npos;
}

/// Builds the tree of one document and collects what strict reading forbids.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const std::string& file, Diagnostics& problems)
      : text_(text), file_(file), problems_(problems) {}

  Node take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_anchor(mark, anchor);
    check_colon();
    add(scalar_node(mark, "", false), mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    problem(mark, "aliases (*name) are not allowed; write the value out, or use 'extends'");
    add(scalar_node(mark, "", false), mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_anchor(mark, anchor);
    const bool quoted = tag == "!";
    if (quoted) {
      check_closed(mark);
      // yaml-cpp makes lone bytes of them.
      if (!is_utf8(value))
        problem(mark, "the escapes \\N and \\_ are not allowed; use \\u0085, \\u00a0");
    } else {
      check_tag(mark, tag);
    }
    if (!quoted && value.find('\t') != std::string::npos) {
      problem(mark, "a tab in a text without quotes; use spaces, or quote it");
    }
    if (!quoted && looks_octal(value)) {
      problem(mark, fmt::format("'{}' looks like an octal number; write it without leading zeros, "
                                "or quote it if it is a text",
                                value));
    }
    add(scalar_node(mark, value, quoted), mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map that is being read; `key` is set while a map waits for the key's value.
  struct Open {
    Node node;
    std::optional<std::pair<std::string, SourcePosition>> key;
    std::size_t key_offset = 0;  ///< where the pending key stands in the text
    bool dropped = false;        ///< the pending key is faulty: its value is read and forgotten
  };

  SourcePosition at(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }
  void problem(const YAML::Mark& mark, std::string message) {
    problems_.error(at(mark), std::move(message));
  }
  void check_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      problem(mark, "anchors (&name) are not allowed; write the value out, or use 'extends'");
    }
  }
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    problem(mark, fmt::format("tags ({}) are not allowed", tag));
  }

  bool is_quote(std::size_t offset) const {
    return offset < text_.size() && (text_[offset] == '"' || text_[offset] == '\'');
  }
  void check_closed(const YAML::Mark& mark) {
    const auto offset = static_cast<std::size_t>(mark.pos);
    if (is_quote(offset) && end_of_quoted(text_, offset) == std::string_view::npos) {
      problem(mark, "this quote is never closed");
    }
  }

  /// A key without a value must at least have its colon: yaml-cpp lets "key" pass for "key:".
  void check_colon() {
    if (stack_.empty() || stack_.back().node.kind != Node::Kind::kMap || waits_for_key()) return;
    const Open& map = stack_.back();
    if (map.dropped) return;
    std::size_t end = map.key_offset;
    end = is_quote(end) ? end_of_quoted(text_, end) : end + map.key->first.size();
    while (end < text_.size() && text_[end] == ' ') ++end;
    if (end < text_.size() && text_[end] == ':') return;
    problems_.error(map.key->second,
                    fmt::format("the key '{}' has no ':' and no value", map.key->first));
  }

  Node scalar_node(const YAML::Mark& mark, std::string text, bool quoted) const {
    Node node;
    node.kind = Node::Kind::kScalar;
    node.scalar = std::move(text);
    node.quoted = quoted;
    node.origin = at(mark);
    return node;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            Node::Kind kind) {
    check_anchor(mark, anchor);
    check_tag(mark, tag);
    if (waits_for_key()) problem(mark, "a key must be a plain word, not a list or a map");
    Open opened;
    opened.node.kind = kind;
    opened.node.origin = at(mark);
    stack_.push_back(std::move(opened));
  }

  void close() {
    Node node = std::move(stack_.back().node);
    stack_.pop_back();
    if (waits_for_key()) {  // said at open()
      stack_.back().key.emplace("", node.origin);
      stack_.back().dropped = true;
      return;
    }
    place(std::move(node));
  }

  bool waits_for_key() const {
    return !stack_.empty() && stack_.back().node.kind == Node::Kind::kMap &&
           !stack_.back().key.has_value();
  }

  void add(Node node, const YAML::Mark& mark) {
    if (waits_for_key()) {
      take_key(node, mark);
    } else {
      place(std::move(node));
    }
  }

  void take_key(Node& node, const YAML::Mark& mark) {
    Open& map = stack_.back();
    map.dropped = true;
    if (node.scalar.empty()) {
      problem(mark, "a key must not be empty or null");
    } else if (node.scalar == "<<" && !node.quoted) {
      problem(mark, "merge keys (<<) are not allowed; use 'extends'");
    } else if (const Node* first = map.node.find(node.scalar)) {
      problem(mark, fmt::format("duplicate key '{}'; it was first given at {}", node.scalar,
                                first->key_origin.str()));
    } else {
      map.dropped = false;
    }
    map.key.emplace(std::move(node.scalar), at(mark));
    map.key_offset = static_cast<std::size_t>(mark.pos);
  }

  void place(Node node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = stack_.back();
    if (parent.node.kind == Node::Kind::kList) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    node.key_origin = std::move(parent.key->second);
    if (node.is_null()) node.origin = node.key_origin;  // yaml-cpp's mark may be lines away
    if (!parent.dropped) {
      parent.node.entries.emplace_back(std::move(parent.key->first), std::move(node));
    }
    parent.key.reset();
  }

  std::string_view text_;
  const std::string& file_;
  Diagnostics& problems_;
  std::vector<Open> stack_;
  Node root_;
};

/// Says where a second document starts, and reads no further.
class SecondDocument final : public YAML::EventHandler {
 public:
  std::optional<YAML::Mark> start;

  void OnDocumentStart(const YAML::Mark& mark) override { start = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// Reads the one document of a text. A text that is not YAML has that one problem: what was noticed
/// before may come from reading it wrongly.
void parse(std::string_view text, TreeBuilder& builder, const std::string& file,
           Diagnostics& problems) {
  const auto at = [&](const YAML::Mark& mark) {
    return SourcePosition{file, mark.line + 1, mark.column + 1};
  };
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return;
    SecondDocument second;
    if (parser.HandleNextDocument(second) && second.start) {
      const bool marked =
          text.substr(static_cast<std::size_t>(second.start->pos)).substr(0, 3) == "---";
      problems.error(at(*second.start),
                     marked ? "a second document starts here; a file holds one"
                            : "this belongs to nothing above; check the indentation");
    }
  } catch (const YAML::Exception& e) {
    problems = Diagnostics();
    problems.error(at(e.mark), syntax_message(e));
  }
}

}  // namespace

Expected<Node> read_yaml(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  Diagnostics problems;
  check_text(text, file, problems);
  if (problems.has_errors()) return fail(std::move(problems));
  TreeBuilder builder(text, file, problems);
  parse(text, builder, file, problems);
  if (problems.has_errors()) return fail(std::move(problems));
  Node root = builder.take_root();
  if (root.origin.line == 0) root.origin = {file, 1, 1};
  return root;
}

Expected<Node> read_yaml_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return fail({path, 0, 0}, "this is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail({path, 0, 0}, "cannot open the file");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return fail({path, 0, 0}, "cannot read the file");
  return read_yaml(text, path);
}

}  // namespace xpusim::config

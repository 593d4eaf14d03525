#include <gtest/gtest.h>

#include "sim/config/tree.h"

namespace xpusim::config {
namespace {

TEST(ReadYaml, KeepsKeysInWrittenOrderWithTheirPositions) {
  const auto node = read_yaml("b: 1\na:\n  - x\n  - 'y z'\n", "f.yaml");
  ASSERT_TRUE(node) << node.error().str();
  ASSERT_EQ(node->entries.size(), 2u);
  EXPECT_EQ(node->entries[0].first, "b");
  EXPECT_EQ(node->entries[0].second.scalar, "1");
  const Node* list = node->find("a");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->key_origin.str(), "f.yaml:2:1");
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_FALSE(list->items[0].quoted);
  EXPECT_TRUE(list->items[1].quoted);
  EXPECT_EQ(list->items[1].origin.str(), "f.yaml:4:5");
}

TEST(ReadYaml, FindsANodeByItsDottedPath) {
  const auto node = read_yaml("gpu: {sm: {count: 132}}", "f.yaml");
  ASSERT_TRUE(node);
  ASSERT_NE(node->at_path("gpu.sm.count"), nullptr);
  EXPECT_EQ(node->at_path("gpu.sm.count")->scalar, "132");
  EXPECT_EQ(node->at_path("gpu.sm.missing"), nullptr);
  EXPECT_EQ(node->at_path("gpu.sm.count.below"), nullptr);
  EXPECT_EQ(node->at_path(""), &*node);
}

TEST(ReadYaml, TakesAnEmptyTextForAnEmptyMap) {
  for (const char* text : {"", "# only a comment\n", "\xef\xbb\xbf"}) {
    const auto node = read_yaml(text, "f.yaml");
    ASSERT_TRUE(node) << text;
    EXPECT_EQ(node->kind, Node::Kind::kMap);
    EXPECT_TRUE(node->entries.empty());
    EXPECT_EQ(node->origin.str(), "f.yaml:1:1");
  }
}

TEST(ReadYaml, TellsNullFromAnEmptyText) {
  const auto node = read_yaml("a:\nb: ~\nc: ''\n", "f.yaml");
  ASSERT_TRUE(node) << node.error().str();
  EXPECT_TRUE(node->find("a")->is_null());
  EXPECT_TRUE(node->find("b")->is_null());
  EXPECT_FALSE(node->find("c")->is_null());
}

TEST(ReadYaml, SaysWhichFileCannotBeOpened) {
  const auto node = read_yaml_file("/nowhere/chip.yaml");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().str(), "/nowhere/chip.yaml: error: cannot open the file\n");
  EXPECT_EQ(read_yaml_file("/").error().str(), "/: error: this is a folder\n");
}

TEST(ReadYaml, BoundsTheNesting) {
  for (const char* opener : {"[", "- ", "{a: ", "? "}) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += opener;
    EXPECT_FALSE(read_yaml(text, "deep.yaml")) << opener;
  }
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "- ";
  EXPECT_EQ(read_yaml(text, "deep.yaml").error().str(),
            "deep.yaml:1:1000: error: lists and maps are nested too deeply\n");
}

struct BadText {
  const char* name;
  const char* text;
  const char* message;
};

void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.name; }

class ReadYamlRefuses : public testing::TestWithParam<BadText> {};

TEST_P(ReadYamlRefuses, WithThisMessage) {
  const auto node = read_yaml(GetParam().text, "f");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().str(), GetParam().message);
}

const BadText kBadTexts[] = {
    {"DuplicateKey", "a: 1\na: 2\n",
     "f:2:1: error: duplicate key 'a'; it was first given at f:1:1\n"},
    {"DuplicateKeyInFlowMap", "a: {b: 1, c: 2, b: 3}\n",
     "f:1:17: error: duplicate key 'b'; it was first given at f:1:5\n"},
    {"DuplicateQuotedKey", "a: 1\n'a': 2\n",
     "f:2:1: error: duplicate key 'a'; it was first given at f:1:1\n"},
    {"MergeKey", "<<: {a: 1}\n", "f:1:1: error: merge keys (<<) are not allowed; use 'extends'\n"},
    {"OctalInteger", "a: 010\n",
     "f:1:4: error: '010' looks like an octal number; write it without leading zeros, or quote it "
     "if it is a text\n"},
    {"NegativeOctalInteger", "a: [1, -007]\n",
     "f:1:8: error: '-007' looks like an octal number; write it without leading zeros, or quote it "
     "if it is a text\n"},
    {"TabInIndentation", "a:\n\tb: 1\n  \tc: 1\n",
     "f:2:1: error: a tab in the indentation; use spaces\n"
     "f:3:3: error: a tab in the indentation; use spaces\n"},
    {"TabInPlainText", "a: b\tc\n",
     "f:1:4: error: a tab in a text without quotes; use spaces, or quote it\n"},
    {"TwoDocuments", "a: 1\n---\nb: 2\n",
     "f:2:1: error: a second document starts here; a file holds one\n"},
    {"MapBesideAList", "- a\nb: 1\n",
     "f:2:1: error: this belongs to nothing above; check the indentation\n"},
    {"ListAsKey", "[a, b]: 1\n", "f:1:1: error: a key must be a plain word, not a list or a map\n"},
    {"MapAsKey", "? {a: 1}\n: 2\n",
     "f:1:3: error: a key must be a plain word, not a list or a map\n"},
    {"NullKey", "~: 1\n", "f:1:1: error: a key must not be empty or null\n"},
    {"EmptyKey", ": 1\n", "f:1:1: error: a key must not be empty or null\n"},
    {"KeyWithoutColon", "a: 1\nb\n", "f:2:1: error: the key 'b' has no ':' and no value\n"},
    {"SetOfKeys", "a: {x, y: 1}\n", "f:1:5: error: the key 'x' has no ':' and no value\n"},
    {"AnchorAndAlias", "a: &x 1\nb: *x\n",
     "f:1:4: error: anchors (&name) are not allowed; write the value out, or use 'extends'\n"
     "f:2:4: error: aliases (*name) are not allowed; write the value out, or use 'extends'\n"},
    {"UnknownAlias", "a: *x\n",
     "f:1:4: error: aliases (*name) are not allowed; write the value out, or use 'extends'\n"},
    {"Tag", "a: !foo {b: 1}\n", "f:1:4: error: tags (!foo) are not allowed\n"},
    {"OpenList", "a: [1, 2\n", "f:2:1: error: a ',' or the ']' that closes the list is missing\n"},
    {"OpenMap", "a: {b: 1\n", "f:2:1: error: a ',' or the '}' that closes the map is missing\n"},
    {"OpenSingleQuote", "a: 'it''s\n", "f:1:4: error: this quote is never closed\n"},
    {"OpenDoubleQuote", "a: \"x\\\"\n", "f:1:4: error: this quote is never closed\n"},
    {"ClosingBracket", "a: ]\n", "f:1:4: error: this bracket closes nothing\n"},
    {"TwoColons", "a: b: c\n",
     "f:1:5: error: a ':' is not expected here; check the indentation, or quote the text\n"},
    {"IndentedTooFar", "a: 1\n b: 2\n",
     "f:2:3: error: a ':' is not expected here; check the indentation, or quote the text\n"},
    {"ListBehindKey", "a: - b\n",
     "f:1:4: error: a '-' is not expected here; check the indentation\n"},
    {"ReservedStart", "a: @x\n", "f:1:4: error: a value cannot start with this; quote it\n"},
    {"UnknownEscape", "a: \"\\q\"\n", "f:1:7: error: unknown escape character: q\n"},
    {"EscapeToALoneByte", "a: \"x\\_\"\n",
     "f:1:4: error: the escapes \\N and \\_ are not allowed; use \\u0085, \\u00a0\n"},
    {"NotUtf8", "a: \xff\n", "f:1:4: error: this is not UTF-8 text\n"},
    {"TruncatedUtf8", "a: \xe2\x82", "f:1:4: error: this is not UTF-8 text\n"},
    {"OverlongUtf8", "a: \xc0\xaf", "f:1:4: error: this is not UTF-8 text\n"},
    {"SurrogateUtf8", "a: \xed\xa0\x80", "f:1:4: error: this is not UTF-8 text\n"},
    {"ControlCharacter", "a: 1\nb: \x04\n", "f:2:4: error: a control character (0x04)\n"},
    {"SeveralProblems", "a: 010\nb: 1\nb: 2\n<<: 3\n",
     "f:1:4: error: '010' looks like an octal number; write it without leading zeros, or quote it "
     "if it is a text\n"
     "f:3:1: error: duplicate key 'b'; it was first given at f:2:1\n"
     "f:4:1: error: merge keys (<<) are not allowed; use 'extends'\n"},
};

INSTANTIATE_TEST_SUITE_P(Yaml, ReadYamlRefuses, testing::ValuesIn(kBadTexts),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ToYaml, PrintsMapsInBlocksAndListsOfValuesInOneLine) {
  const auto node = read_yaml("{name: h200, gpu: {dims: [4, 4], none: , l2: {size: 50 MiB}}}", "f");
  ASSERT_TRUE(node) << node.error().str();
  EXPECT_EQ(to_yaml(*node),
            "name: h200\n"
            "gpu:\n"
            "  dims: [4, 4]\n"
            "  none: ~\n"
            "  l2:\n"
            "    size: 50 MiB\n");
}

TEST(ToYaml, IsReadBackAsTheSameTree) {
  for (const char* text :
       {"{}", "[]", "a: []\nb: {}\n", "'<<': 1\n", "'010': '010'\n", "'null': 'null'\n",
        "a: \"tab\\t quote\\\" line\\n \\x04 \\u00e9\"\n", "a: '- x'\n", "a: 'x: y # z'\n",
        "- - a\n  - b\n- {x: [1, {y: 2}]}\n", "a: |\n  text\n  more\n", "a: a,b\n", "a: -1\n",
        "key with space: ' padded '\n", "a: ---\n", "a: http://x\n"}) {
    const auto first = read_yaml(text, "f");
    ASSERT_TRUE(first) << first.error().str();
    const std::string printed = to_yaml(*first);
    const auto second = read_yaml(printed, "g");
    ASSERT_TRUE(second) << printed << second.error().str();
    EXPECT_EQ(to_yaml(*second), printed);
  }
}

}  // namespace
}  // namespace xpusim::config

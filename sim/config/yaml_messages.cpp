#include "sim/config/yaml_messages.h"

#include <yaml-cpp/exceptions.h>

#include <array>
#include <string_view>

namespace xpusim::config {

namespace {

struct Message {
  std::string_view theirs, ours;
};

const std::array kMessages = {
    Message{YAML::ErrorMsg::BAD_FILE, "lists and maps are nested too deeply"},
    Message{YAML::ErrorMsg::UNKNOWN_ANCHOR,
            "aliases (*name) are not allowed; write the value out, or use 'extends'"},
    Message{YAML::ErrorMsg::MAP_VALUE,
            "a ':' is not expected here; check the indentation, or quote the text"},
    Message{YAML::ErrorMsg::MAP_KEY, "a key is not expected here; check the indentation"},
    Message{YAML::ErrorMsg::BLOCK_ENTRY, "a '-' is not expected here; check the indentation"},
    Message{YAML::ErrorMsg::END_OF_MAP, "a key is expected here; check the indentation"},
    Message{YAML::ErrorMsg::END_OF_SEQ, "a '-' is expected here; check the indentation"},
    Message{YAML::ErrorMsg::END_OF_MAP_FLOW, "a ',' or the '}' that closes the map is missing"},
    Message{YAML::ErrorMsg::END_OF_SEQ_FLOW, "a ',' or the ']' that closes the list is missing"},
    Message{YAML::ErrorMsg::FLOW_END, "this bracket closes nothing"},
    Message{YAML::ErrorMsg::UNKNOWN_TOKEN, "a value cannot start with this; quote it"},
};

}  // namespace

std::string syntax_message(const YAML::Exception& error) {
  for (const Message& m : kMessages) {
    if (error.msg.substr(0, m.theirs.size()) == m.theirs) return std::string(m.ours);
  }
  return error.msg;
}

}  // namespace xpusim::config

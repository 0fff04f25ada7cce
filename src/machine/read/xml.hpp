#pragma once
/// XML from strangers: bounded before it is parsed, and with line numbers.

#include <pugixml.hpp>

#include "machine/read/reader.hpp"

namespace peerlane::read {

/// Parses into `document`. Throws InputError for broken XML and, before the parser sees it, for more than 64 MiB, more
/// than 1000 levels, more than a million elements, and a DOCTYPE that defines entities (a plain `<!DOCTYPE name SYSTEM
/// "file">` is fine, nothing is loaded). Never recurses.
void parse_xml(const Source& source, pugi::xml_document& document);

/// Line of an element, 1-based; 0 when unknown.
int line_of(const Source& source, const pugi::xml_node& node);

/// Name of the first element of a text that looks like XML: blanks, declarations, comments and a DOCTYPE before it are
/// skipped. Empty when the text does not begin so.
std::string_view root_element(std::string_view text);

/// Refuses text that stands between elements, where these formats have none: a mark was lost, and with it an element.
void refuse_text(const Source& source, const pugi::xml_node& node);

/// Documents that follow the first one in the same text, as when the dumps of several runs are pasted together: notice
/// two-tables for each.
void note_later_documents(const Source& source, const pugi::xml_document& document, Machine& machine);

}  // namespace peerlane::read

#include "unit/audit/fenced.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace peerlane::audit_tests {

std::vector<Fenced> fenced_traces(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read " + path);
    }
    const std::string open = "```trace expect=";
    std::vector<Fenced> found;
    std::string heading;
    bool inside = false;
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (inside) {
            if (line == "```") {
                inside = false;
            } else {
                found.back().trace += line + '\n';
            }
        } else if (line.rfind(open, 0) == 0) {
            inside = true;
            Fenced block;
            block.file = std::filesystem::path(path).filename().string();
            block.line = number;
            block.heading = heading;
            for (std::string codes = line.substr(open.size()); !codes.empty();) {
                const std::size_t end = std::min(codes.find(','), codes.size());
                if (codes.substr(0, end) != "clean") {
                    block.expect.insert(codes.substr(0, end));
                }
                codes.erase(0, end + 1);
            }
            found.push_back(std::move(block));
        } else if (line.rfind("#", 0) == 0) {
            heading = line;
        }
    }
    if (inside) {
        throw std::runtime_error(path + ": the last fence is not closed");
    }
    return found;
}

std::vector<Fenced> fenced_traces_of_folder(const std::string& path) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
        if (entry.path().extension() == ".md") {
            files.push_back(entry.path().string());
        }
    }
    std::sort(files.begin(), files.end());
    std::vector<Fenced> all;
    for (const std::string& file : files) {
        for (Fenced& block : fenced_traces(file)) {
            all.push_back(std::move(block));
        }
    }
    return all;
}

}  // namespace peerlane::audit_tests

#pragma once
/// The files of web/ and of the charts' library, as the build wrote them into the library.

#include <string_view>

namespace peerlane::report {

struct Embedded {
    std::string_view script, style;                                ///< web/report.js, web/report.css
    std::string_view charts_script, charts_style, charts_licence;  ///< of uPlot; empty where the build found none
};

const Embedded& embedded();

}  // namespace peerlane::report

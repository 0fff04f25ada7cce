#pragma once
#include <peerlane/probe_host.hpp>

#include "cli/stop.hpp"

#include <csignal>

namespace peerlane::cli {
namespace {

volatile std::sig_atomic_t caught_signal = 0;
struct sigaction before_interrupt {};
struct sigaction before_terminate {};

void mark(int signal) {
    caught_signal = signal;
}

void install(int signal, struct sigaction& before) {
    struct sigaction ours {};
    ours.sa_handler = mark;
    ours.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&ours.sa_mask);
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) {
        ::sigaction(signal, &ours, nullptr);
    }
}

}  // namespace

StopSignals::StopSignals() {
    caught_signal = 0;
    install(SIGINT, before_interrupt);
    install(SIGTERM, before_terminate);
}

StopSignals::~StopSignals() {
    ::sigaction(SIGINT, &before_interrupt, nullptr);
    ::sigaction(SIGTERM, &before_terminate, nullptr);
}

int StopSignals::caught() {
    return caught_signal;
}

}  // namespace peerlane::cli

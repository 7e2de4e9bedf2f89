#include "base/keep_process_state.hpp"

#include <clocale>
#include <string>

#include "base/process_state.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

// Of what POSIX systems have, Windows has this.
struct KeepProcessState::Kept {
    Kept() {
        if (const char* name = std::setlocale(LC_ALL, nullptr)) locale = name;
        ::GetProcessAffinityMask(::GetCurrentProcess(), &allowed, &there);
    }
    ~Kept() {
        DWORD_PTR now = 0;
        if (::GetProcessAffinityMask(::GetCurrentProcess(), &now, &there) != 0 && now != allowed && allowed != 0)
            ::SetProcessAffinityMask(::GetCurrentProcess(), allowed);
        const char* name = std::setlocale(LC_ALL, nullptr);
        if (name != nullptr && locale != name) std::setlocale(LC_ALL, locale.c_str());
    }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    KeepFloatingPoint floating_point;
    DWORD_PTR allowed = 0, there = 0;
    std::string locale;
};

KeepProcessState::KeepProcessState() : kept_(std::make_unique<Kept>()) {}
KeepProcessState::~KeepProcessState() = default;

}  // namespace backplane::base

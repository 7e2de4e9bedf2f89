// Format and rules: Microsoft, "How DACLs control access to an object", "Well-known SIDs", "File access rights constants".
#include "base/windows/access.hpp"

#include <aclapi.h>
#include <sddl.h>

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/dynamic_library.hpp"

namespace backplane::base::windows {

namespace {

// A security identifier of its own.
class Sid {
public:
    Sid() = default;
    explicit Sid(PSID from) {
        if (from == nullptr || ::IsValidSid(from) == 0) return;
        bytes_.resize(::GetLengthSid(from));
        ::CopySid(static_cast<DWORD>(bytes_.size()), bytes_.data(), from);
    }
    explicit Sid(const wchar_t* text) {
        PSID made = nullptr;
        if (::ConvertStringSidToSidW(text, &made) == 0) return;
        *this = Sid(made);
        ::LocalFree(made);
    }
    bool is(PSID other) const { return !bytes_.empty() && ::EqualSid(const_cast<std::byte*>(bytes_.data()), other) != 0; }

private:
    std::vector<std::byte> bytes_;
};

// Groups that hold more or less everybody: Everyone, Anonymous, Guests, Users, Authenticated Users, Interactive, Network.
const std::array<Sid, 7>& everybody() {
    static const std::array<Sid, 7> kGroups{Sid(L"S-1-1-0"),  Sid(L"S-1-5-7"), Sid(L"S-1-5-32-546"), Sid(L"S-1-5-32-545"),
                                            Sid(L"S-1-5-11"), Sid(L"S-1-5-4"), Sid(L"S-1-5-2")};
    return kGroups;
}

// The system, its administrators, and what installs its updates.
const std::array<Sid, 3>& system_owners() {
    static const std::array<Sid, 3> kOwners{Sid(L"S-1-5-18"), Sid(L"S-1-5-32-544"),
                                            Sid(L"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464")};
    return kOwners;
}

// For a folder: putting a file into it or taking one out. Making a folder in it, which everybody may do in the root of a drive, changes
// nothing that is there.
constexpr DWORD kWriteFile =
    FILE_WRITE_DATA | FILE_APPEND_DATA | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
constexpr DWORD kWriteFolder =
    FILE_ADD_FILE | FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;

// One entry of an access list, as far as it matters here.
struct Entry {
    bool allows;
    DWORD mask;
    PSID who;
};

std::optional<Entry> entry_at(PACL list, DWORD index) {
    void* raw = nullptr;
    if (::GetAce(list, index, &raw) == 0) return std::nullopt;
    const auto* header = static_cast<const ACE_HEADER*>(raw);
    if ((header->AceFlags & INHERIT_ONLY_ACE) != 0) return std::nullopt;  // for what lies below, which has its own list
    const bool allows = header->AceType == ACCESS_ALLOWED_ACE_TYPE || header->AceType == ACCESS_ALLOWED_CALLBACK_ACE_TYPE;
    if (!allows && header->AceType != ACCESS_DENIED_ACE_TYPE) return std::nullopt;
    auto* ace = static_cast<ACCESS_ALLOWED_ACE*>(raw);  // the other kinds begin alike
    return Entry{allows, ace->Mask, &ace->SidStart};
}

bool allows_everybody(PACL list, DWORD what) {
    if (list == nullptr) return true;  // no list at all: everything is allowed
    for (const Sid& group : everybody()) {
        DWORD denied = 0;  // an entry counts for what none before it denied
        for (DWORD i = 0; i < list->AceCount; ++i) {
            const std::optional<Entry> entry = entry_at(list, i);
            if (!entry || (!group.is(entry->who) && (entry->allows || !everybody()[0].is(entry->who)))) continue;
            if (!entry->allows) denied |= entry->mask;
            if (entry->allows && (entry->mask & what & ~denied) != 0) return true;
        }
    }
    return false;
}

Sid this_user() {
    HANDLE opened = nullptr;
    if (::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &opened) == 0) return {};
    const Handle token(opened);
    DWORD size = 0;
    ::GetTokenInformation(token.get(), TokenUser, nullptr, 0, &size);
    std::vector<std::byte> room(size);
    if (size < sizeof(TOKEN_USER) || ::GetTokenInformation(token.get(), TokenUser, room.data(), size, &size) == 0) return {};
    return Sid(reinterpret_cast<const TOKEN_USER*>(room.data())->User.Sid);
}

// Whoever installed this library can change what the application does anyway.
Sid installer() {
    PSID owner = nullptr;
    PSECURITY_DESCRIPTOR all = nullptr;
    const std::filesystem::path own = extended(own_file());
    if (own.empty() || ::GetNamedSecurityInfoW(own.c_str(), SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION, &owner, nullptr,
                                               nullptr, nullptr, &all) != ERROR_SUCCESS)
        return {};
    const LocalMemory<void> held(all);
    return Sid(owner);
}

bool is_trusted(PSID owner) {
    static const Sid kUser = this_user();
    static const Sid kInstaller = installer();
    if (kUser.is(owner) || kInstaller.is(owner)) return true;
    for (const Sid& system : system_owners())
        if (system.is(owner)) return true;
    return false;
}

// "user DOMAIN\name", or the identifier where it has no name here.
std::string name_of(PSID owner) {
    std::array<wchar_t, 256> name{};
    std::array<wchar_t, 256> domain{};
    DWORD name_room = name.size();
    DWORD domain_room = domain.size();
    SID_NAME_USE use{};
    if (::LookupAccountSidW(nullptr, owner, name.data(), &name_room, domain.data(), &domain_room, &use) != 0)
        return "user " + (domain_room == 0 ? "" : to_utf8(domain.data()) + "\\") + to_utf8(name.data());
    wchar_t* text = nullptr;
    if (::ConvertSidToStringSidW(owner, &text) == 0) return "an unknown user";
    const LocalMemory<wchar_t> held(text);
    return "user " + to_utf8(text);
}

}  // namespace

Access access_of(HANDLE file, bool folder) {
    PSID owner = nullptr;
    PACL list = nullptr;
    PSECURITY_DESCRIPTOR all = nullptr;
    constexpr SECURITY_INFORMATION kWanted = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    if (::GetSecurityInfo(file, SE_FILE_OBJECT, kWanted, &owner, nullptr, &list, nullptr, &all) != ERROR_SUCCESS)
        return {true, false, "an unknown user"};
    const LocalMemory<void> held(all);
    Access access;
    access.others_may_write = allows_everybody(list, folder ? kWriteFolder : kWriteFile);
    if (owner == nullptr) return access;
    access.foreign_owner = !is_trusted(owner);
    access.owner = name_of(owner);
    return access;
}

}  // namespace backplane::base::windows

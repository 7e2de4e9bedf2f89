# Windows on x86-64, from Debian: g++-mingw-w64-x86-64-posix compiles, wine64 runs (scripts/wine-run). Everything is linked statically:
# a built file needs nothing but Windows.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# LLVM's linker, where there is one (Debian: lld), links a test program in a tenth of a second; GNU's takes seven over so many sections. Debian's
# g++ has its linker built in, and takes none that -fuse-ld= names.
find_program(BP_LLD ld.lld)
find_program(BP_GNU_LD x86_64-w64-mingw32-ld)
set(linker "")
if(BP_LLD AND BP_GNU_LD)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/mingw-link.in ${CMAKE_BINARY_DIR}/mingw-link @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  file(WRITE ${CMAKE_BINARY_DIR}/lld.specs "*linker:\n${CMAKE_BINARY_DIR}/mingw-link\n")
  set(linker " -specs=${CMAKE_BINARY_DIR}/lld.specs")
endif()
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-static -static-libgcc -static-libstdc++${linker}")
endforeach()

# GCC takes the stack for aligned to 32 and 64 bytes where Windows aligns it to 16 (GCC PR 54412), and moves vectors to it with
# instructions that insist: the assembler turns these into those that do not.
set(CMAKE_C_FLAGS_INIT "-Wa,-muse-unaligned-vector-move")
set(CMAKE_CXX_FLAGS_INIT "-Wa,-muse-unaligned-vector-move")

# Libraries that are headers alone serve every platform. They are linked into a folder of their own: /usr/include as a whole would bring
# the headers of Linux.
set(headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(library hwy CLI nlohmann xxhash.h vulkan vk_video CL)
  if(EXISTS /usr/include/${library} AND NOT EXISTS ${headers}/${library})
    file(CREATE_LINK /usr/include/${library} ${headers}/${library} SYMBOLIC)
  endif()
endforeach()
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${headers})
set(BP_HWY_INCLUDE ${headers} CACHE PATH "Folder of hwy/highway.h")
foreach(interface vulkan:VULKAN CL:OPENCL)  # their loaders are opened at run time
  string(REPLACE ":" ";" interface ${interface})
  list(GET interface 0 library)
  list(GET interface 1 name)
  if(EXISTS ${headers}/${library})
    set(BP_${name}_INCLUDE ${headers} CACHE PATH "Folder of ${library}/")
  endif()
endforeach()

list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/modules)  # GoogleTest from its sources
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/../../scripts/wine-run)
set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)  # building needs no Wine

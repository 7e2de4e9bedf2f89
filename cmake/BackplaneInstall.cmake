# The install tree (BACKPLANE_INSTALL): libraries, headers, module files (backplane_module installs those), the command line, and what find_package
# and pkg-config need. Nothing in it names the place it was installed to, except the folder of modules that is searched last, of which the static library is
# told when it is installed.
include(CMakePackageConfigHelpers)
set(BP_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/backplane)

install(TARGETS backplane EXPORT backplaneTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
get_target_property(kind backplane TYPE)
if(kind STREQUAL "STATIC_LIBRARY" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" AND (NOT WIN32 OR CMAKE_HOST_WIN32))
  set(BP_INSTALL_TARGET_FLAGS "")
  if(CMAKE_CXX_COMPILER_TARGET)
    string(APPEND BP_INSTALL_TARGET_FLAGS " ${CMAKE_CXX_COMPILE_OPTIONS_TARGET}${CMAKE_CXX_COMPILER_TARGET}")
  endif()
  if(CMAKE_SYSROOT)
    string(APPEND BP_INSTALL_TARGET_FLAGS " ${CMAKE_CXX_COMPILE_OPTIONS_SYSROOT}${CMAKE_SYSROOT}")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/BackplaneInstalledModules.cmake.in ${PROJECT_BINARY_DIR}/BackplaneInstalledModules.cmake @ONLY)
  install(SCRIPT ${PROJECT_BINARY_DIR}/BackplaneInstalledModules.cmake COMPONENT development)
endif()
install(TARGETS backplane_probe RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/backplane COMPONENT runtime)
if(BACKPLANE_TOOLS)
  install(TARGETS backplane_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  if(BP_MANUAL)
    install(DIRECTORY ${BP_MANUAL}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tools)
    install(DIRECTORY ${BP_MANUAL}/bash-completion ${BP_MANUAL}/zsh ${BP_MANUAL}/fish DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT tools)
  endif()
endif()
# A shared library exports the C API alone: its tree has no header that says otherwise. For authors of modules it is as the other.
set(BP_CXX_API TRUE)
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/backplane/*.h ${PROJECT_SOURCE_DIR}/include/backplane/*.hpp)
if(kind STREQUAL "SHARED_LIBRARY")
  set(BP_CXX_API FALSE)
  list(FILTER headers INCLUDE REGEX "\\.h$|/sdk\\.hpp$")
endif()
if(NOT BACKPLANE_MODELS)
  list(FILTER headers EXCLUDE REGEX "/(audio|esrgan|image|model|quantize|transcriber|upscaler|weight_file)\\.hp?p?$")  # what that library defines
endif()
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/backplane COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/backplane/ops DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/backplane COMPONENT development)
install(EXPORT backplaneTargets NAMESPACE backplane:: DESTINATION ${BP_INSTALL_CMAKE} COMPONENT development)
# The models, in a set of their own: who wants the library alone need not have what reads pictures and sound.
if(BACKPLANE_MODELS)
  install(TARGETS ${models} EXPORT backplaneModelsTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
  install(EXPORT backplaneModelsTargets NAMESPACE backplane:: DESTINATION ${BP_INSTALL_CMAKE} COMPONENT development)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/BackplaneModelFiles.cmake DESTINATION ${BP_INSTALL_CMAKE} COMPONENT development)
endif()

# For authors of modules: the function that builds one, and its templates. For applications: the one that brings modules to a program.
install(FILES ${PROJECT_SOURCE_DIR}/cmake/BackplaneModule.cmake ${PROJECT_SOURCE_DIR}/cmake/BackplaneCopyModules.cmake ${PROJECT_SOURCE_DIR}/cmake/export.c.in
  ${PROJECT_SOURCE_DIR}/cmake/module.map DESTINATION ${BP_INSTALL_CMAKE} COMPONENT development)

# Who links the static models needs what they read with; in a shared library it is linked already.
set(BP_MODELS_IMAGES OFF)
set(BP_MODELS_AUDIO OFF)
if(kind STREQUAL "STATIC_LIBRARY")
  set(BP_MODELS_IMAGES ${BACKPLANE_IMAGES})
  set(BP_MODELS_AUDIO ${BACKPLANE_AUDIO})
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/backplaneConfig.cmake.in ${PROJECT_BINARY_DIR}/backplaneConfig.cmake
  INSTALL_DESTINATION ${BP_INSTALL_CMAKE} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/backplaneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/backplaneConfig.cmake ${PROJECT_BINARY_DIR}/backplaneConfigVersion.cmake
  DESTINATION ${BP_INSTALL_CMAKE} COMPONENT development)

# pkg-config: the prefix follows from where the file lies, so that the tree can be moved.
string(REGEX REPLACE "[^/]+" ".." BP_PC_UP ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(BP_PC_LIBS "-lbackplane")
if(kind STREQUAL "STATIC_LIBRARY")
  if(WIN32)
    string(APPEND BP_PC_LIBS " -lstdc++ -lsynchronization -ladvapi32 -lshell32 -luser32")
  else()
    string(APPEND BP_PC_LIBS " -lstdc++ -lm -pthread -ldl")
  endif()
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/backplane.pc.in ${PROJECT_BINARY_DIR}/backplane.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/backplane.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
if(BACKPLANE_MODELS)
  set(BP_PC_REQUIRES "")
  set(BP_PC_MODELS_SYSTEM "")
  if(kind STREQUAL "STATIC_LIBRARY")
    set(BP_PC_REQUIRES "backplane")
    if(BP_MODELS_IMAGES AND WIN32)
      set(BP_PC_MODELS_SYSTEM " -lole32 -luuid -lwindowscodecs")
    elseif(BP_MODELS_IMAGES)
      string(APPEND BP_PC_REQUIRES " libpng libjpeg")
    endif()
    if(BP_MODELS_AUDIO)
      string(APPEND BP_PC_REQUIRES " sndfile samplerate")
    endif()
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/backplane-models.pc.in ${PROJECT_BINARY_DIR}/backplane-models.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/backplane-models.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()

# The licence, which goes with whatever is given to others.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/backplane COMPONENT runtime)

# The Rust crates, which find the tree that they lie in (docs/rust.md).
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings/rust DESTINATION ${CMAKE_INSTALL_DATADIR}/backplane COMPONENT development
  FILES_MATCHING PATTERN "*.rs" PATTERN "Cargo.*" PATTERN "target" EXCLUDE PATTERN "tests" EXCLUDE)

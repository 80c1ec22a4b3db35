# install(): the program, the libraries, their headers as "heddle/<folder>/<file>", and the package that
# find_package(heddle) finds.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)

install(TARGETS heddle heddle_kernels heddle_profiles heddle_runtime heddle_tuner EXPORT heddleTargets)
install(EXPORT heddleTargets NAMESPACE heddle:: DESTINATION ${package_dir})
# find_package(heddle) works on the build folder as well: python/ uses it so.
export(EXPORT heddleTargets NAMESPACE heddle:: FILE ${PROJECT_BINARY_DIR}/heddleTargets.cmake)
foreach(folder kernels profiles runtime tuner)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/heddleConfig.cmake.in
  ${PROJECT_BINARY_DIR}/heddleConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heddleConfig.cmake ${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake
  DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

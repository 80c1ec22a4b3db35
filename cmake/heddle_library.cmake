# heddle_library(<folder> SOURCES ... PUBLIC ... PRIVATE ...): the static library heddle_<folder>, alias
# heddle::<folder>. The link order kernels <- profiles <- runtime <- tuner <- cli shows a wrong dependency.
function(heddle_target_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  if(HEDDLE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

function(heddle_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  set(target heddle_${folder})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(heddle::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  heddle_target_options(${target})
endfunction()

# heddle_test(<folder> SOURCES ... LINK ...): one doctest executable per folder under tests/, run by CTest.
function(heddle_test folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  set(target test_${folder})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/main.cpp ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} doctest::doctest)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  heddle_target_options(${target})
  add_test(NAME ${folder} COMMAND ${target})
endfunction()

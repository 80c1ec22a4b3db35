# Installs heddle into a folder of its own, builds the project beside this file against it, and runs the program.
# cmake -D BUILD=... -D SOURCE=... -D WORK=... -D COMPILER=... -D FLAGS=... -D GENERATOR=... -P check.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/package -B ${WORK}/build -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
  -D CMAKE_CXX_FLAGS=${FLAGS} -D CMAKE_PREFIX_PATH=${WORK}/installed -D EXAMPLE=${SOURCE}/examples/train.cpp)
run(${CMAKE_COMMAND} --build ${WORK}/build)

set(rows "")
foreach(i RANGE 1 60)
  math(EXPR class "${i} % 2")
  math(EXPR value "${i} % 7 + 10 * ${class}")
  string(APPEND rows "${value} ${i} ${class}\n")
endforeach()
file(WRITE ${WORK}/rows.txt "${rows}")
run(${CMAKE_COMMAND} -E env HEDDLE_PROFILES=${WORK}/none.sqlite
  ${WORK}/build/train ${WORK}/rows.txt ${WORK}/rows.txt ${WORK}/model.heddle)
run(${WORK}/installed/bin/heddle predict ${WORK}/model.heddle ${WORK}/rows.txt --output ${WORK}/predictions.csv)

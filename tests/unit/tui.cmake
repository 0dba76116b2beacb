foreach(name options plain rounds manual)
  proctor_test(unit tui_${name} SOURCES test_tui_${name}.c LINK front record base test_support)
endforeach()

# The front itself, against a core and a worker that follow a script (test_tui_core.c) and are found beside it.
foreach(program core worker)
  add_executable(tui_${program} test_tui_core.c)
  target_link_libraries(tui_${program} PRIVATE proctor_dynamic record base)
endforeach()
add_executable(tui_front ${PROJECT_SOURCE_DIR}/tui/main.c)
target_link_libraries(tui_front PRIVATE proctor_dynamic front record base)
set_target_properties(tui_core PROPERTIES OUTPUT_NAME proctor-core)
set_target_properties(tui_worker PROPERTIES OUTPUT_NAME proctor-worker)
set_target_properties(tui_front PROPERTIES OUTPUT_NAME proctor)
set_target_properties(tui_core tui_worker tui_front PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/unit/front)
proctor_test(unit tui_front SOURCES test_tui_front.c LINK record base test_support)
add_dependencies(test_tui_front tui_core tui_worker tui_front)

# The Debian packages that the project stands on, as imported targets.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_package(SQLite3 REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)

# SystemC ships a .pc file and no CMake config. Debian builds it as C++17 and the library checks
# that at link time, so every file that sees its headers has to say so.
pkg_check_modules(SYSTEMC REQUIRED IMPORTED_TARGET systemc)
add_library(systemc INTERFACE)
target_link_libraries(systemc INTERFACE PkgConfig::SYSTEMC Threads::Threads)
target_compile_definitions(systemc INTERFACE SC_CPLUSPLUS=201703L)

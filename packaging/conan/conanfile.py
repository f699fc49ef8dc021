# SPDX-License-Identifier: MIT
"""Conan 2:  conan create packaging/conan            (from the root of the tree)
             conan create packaging/conan -o "tenon/*:shared=True" """
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class TenonConan(ConanFile):
    name = "tenon"
    description = "A portable TCP/IP stack that lives in your program"
    license = "MIT"
    topics = ("tcp", "ip", "udp", "network", "embedded")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "assert_level": [0, 1, 2], "ports": [True, False]}
    default_options = {"shared": False, "fPIC": True, "assert_level": 1, "ports": True}
    implements = ["auto_shared_fpic"]
    languages = ["C"]

    def config_options(self):
        # They are for Linux, and with them the core assignment.
        if self.settings.os != "Linux":
            del self.options.ports

    def set_version(self):
        # One place knows the version: the public header.
        header = load(self, os.path.join(ROOT, "include", "tenon", "tenon.h"))
        self.version = re.search(r'TENON_VERSION "([^"]+)"', header).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake/*", "include/*", "src/*",
                        "embedded/*", "services/*", "ports/*", "models/*"):
            copy(self, pattern, ROOT, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("APPS", "EXAMPLES", "TESTS", "STATIC", "NS3"):
            toolchain.cache_variables[f"TENON_{part}"] = False
        toolchain.cache_variables["TENON_DPDK"] = "OFF"
        toolchain.cache_variables["TENON_PORTS"] = bool(self.options.get_safe("ports"))
        toolchain.cache_variables["TENON_ASSERT_LEVEL"] = str(self.options.assert_level)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan writes what CMake and pkg-config have to know.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        # The names that an installation gives to CMake and pkg-config; all of them together are Tenon::Tenon.
        self.cpp_info.set_property("cmake_file_name", "Tenon")
        self.cpp_info.set_property("cmake_target_name", "Tenon::Tenon")
        self.cpp_info.set_property("pkg_config_name", "tenon-all")
        needs = {"tenon": [], "tenon_sock": ["tenon"], "tenon_services": ["tenon"]}
        if self.options.get_safe("ports"):
            needs |= {"tenon_ports": ["tenon"], "tenon_models": ["tenon_ports"]}
        for library, requires in needs.items():
            part = self.cpp_info.components[library]
            part.libs = [library]
            part.requires = requires
            part.system_libs = ["pthread"] if library in ("tenon_ports", "tenon_models") else []
            part.set_property("cmake_target_name", f"Tenon::{library}")
            part.set_property("pkg_config_name", library)
        core = self.cpp_info.components["tenon"]
        # Inline functions of the headers check with the same level as the library.
        core.defines = [f"TENON_ASSERT_LEVEL={self.options.assert_level}"]
        if not self.options.shared:
            core.set_property("cmake_target_aliases", ["Tenon::tenon_static"])

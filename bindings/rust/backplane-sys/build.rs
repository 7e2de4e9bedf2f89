//! Finds Backplane and says how to link it. In this order:
//!
//! 1. `BACKPLANE_DIR`: the folder that `cmake --install --prefix` was given, or a Debian package unpacked to;
//! 2. the install tree that this crate lies in (`share/backplane/rust`), unless this is a cross build;
//! 3. pkg-config (`backplane-models`, or `backplane` without the feature `models`), unless `BACKPLANE_BUILD` is set or this is a cross build;
//! 4. the sources, with CMake: those this crate lies in, or those of `BACKPLANE_SOURCE`. `BACKPLANE_CMAKE_ARGS` goes to CMake.
//!
//! `BACKPLANE_LIBRARY` is `static` or `shared` where an installed Backplane has both, or to insist on one.
//! Crates that depend on this one get `DEP_BACKPLANE_INCLUDE`, `_LIB_DIR`, `_MODULE_DIR` and `_KIND` in their build scripts.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

/// What the library itself needs of the system and of others, as words of a linker.
struct Installed {
    include: PathBuf,
    lib: PathBuf,
    modules: PathBuf,
    others: Vec<String>,
}

fn fail(text: &str) -> ! {
    eprintln!("backplane-sys: {}", text);
    exit(1)
}

fn variable(name: &str) -> Option<String> {
    println!("cargo:rerun-if-env-changed={}", name);
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn models() -> bool {
    env::var_os("CARGO_FEATURE_MODELS").is_some()
}

fn library() -> &'static str {
    if models() {
        "backplane_models"
    } else {
        "backplane"
    }
}

fn windows() -> bool {
    env::var("CARGO_CFG_TARGET_OS").map_or(false, |os| os == "windows")
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation needs no library
    }
    let source = variable("BACKPLANE_SOURCE").map(PathBuf::from);
    let insists = variable("BACKPLANE_BUILD").is_some();
    let found = if let Some(folder) = variable("BACKPLANE_DIR") {
        from_folder(Path::new(&folder)).unwrap_or_else(|why| fail(&why))
    } else {
        match (insists, own_prefix().or_else(from_pkg_config)) {
            (false, Some(folder)) => from_folder(&folder).unwrap_or_else(|why| fail(&why)),
            _ => from_sources(source),
        }
    };
    link(&found);
}

fn crosses() -> bool {
    env::var("HOST") != env::var("TARGET")
}

/// The prefix of the install tree that this crate is part of.
fn own_prefix() -> Option<PathBuf> {
    let here = fs::canonicalize(env::var_os("CARGO_MANIFEST_DIR")?).ok()?;
    let prefix = here.ancestors().nth(4)?;
    if crosses() || here != prefix.join("share/backplane/rust/backplane-sys") {
        return None;
    }
    Some(prefix.to_path_buf())
}

/// The prefix of a Backplane that pkg-config knows.
fn from_pkg_config() -> Option<PathBuf> {
    if crosses() {
        return None;
    }
    for name in ["PKG_CONFIG_PATH", "PKG_CONFIG"] {
        variable(name);
    }
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let package = if models() { "backplane-models" } else { "backplane" };
    let answer = Command::new(program).args(["--variable=prefix", package]).output().ok()?;
    let prefix = String::from_utf8(answer.stdout).ok()?.trim().to_string();
    if answer.status.success() && !prefix.is_empty() {
        Some(PathBuf::from(prefix))
    } else {
        None
    }
}

/// The folders below `prefix` that may hold libraries, as CMake's GNUInstallDirs names them.
fn library_folders(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = vec![prefix.join("lib"), prefix.join("lib64")];
    if let Ok(target) = env::var("TARGET") {
        // x86_64-unknown-linux-gnu is x86_64-linux-gnu there.
        folders.push(prefix.join("lib").join(target.replace("-unknown-", "-")));
    }
    folders
}

fn from_folder(prefix: &Path) -> Result<Installed, String> {
    let names = [
        format!("lib{}.a", library()),
        format!("lib{}.so", library()),
        format!("lib{}.dylib", library()),
        format!("lib{}.dll.a", library()),
    ];
    let lib = library_folders(prefix).into_iter().find(|folder| names.iter().any(|name| folder.join(name).exists()));
    let lib = lib.ok_or_else(|| {
        format!(
            "there is no lib{}.a or .so in lib, lib64 or the like of '{}': give the folder that `cmake --install --prefix` was \
             given as BACKPLANE_DIR{}",
            library(),
            prefix.display(),
            if models() { ", or turn the feature `models` off where Backplane was built with BACKPLANE_MODELS=OFF" } else { "" }
        )
    })?;
    println!("cargo:rerun-if-changed={}", lib.display());
    let mut others = Vec::new();
    let package = if models() { "backplane-models" } else { "backplane" };
    words_of_package(&lib.join("pkgconfig"), package, &mut others)?;
    Ok(Installed { include: prefix.join("include"), modules: lib.join("backplane"), lib, others })
}

/// What a .pc file of an installed Backplane names beside its own libraries. Read here, so that cross builds need no pkg-config.
fn words_of_package(folder: &Path, package: &str, words: &mut Vec<String>) -> Result<(), String> {
    let path = folder.join(format!("{}.pc", package));
    let text = fs::read_to_string(&path).map_err(|why| format!("cannot read '{}': {}", path.display(), why))?;
    for line in text.lines() {
        if let Some(libs) = line.strip_prefix("Libs:") {
            words.extend(
                libs.split_whitespace().filter(|word| word.starts_with("-l") || *word == "-pthread").map(String::from),
            );
        }
    }
    for line in text.lines() {
        if let Some(requires) = line.strip_prefix("Requires:") {
            for other in requires.split_whitespace() {
                match other {
                    "backplane" => words_of_package(folder, other, words)?,
                    "libpng" => words.push("-lpng16".into()),
                    "libjpeg" => words.push("-ljpeg".into()),
                    name => words.push(format!("-l{}", name)),
                }
            }
        }
    }
    Ok(())
}

/// Builds the sources and installs them into OUT_DIR.
fn from_sources(given: Option<PathBuf>) -> Installed {
    let own = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../..");
    let source = given.unwrap_or(own);
    if !source.join("include/backplane/backplane.h").exists() {
        fail(&format!(
            "Backplane was not found: install it and set BACKPLANE_DIR to where (docs/rust.md), or PKG_CONFIG_PATH; or set \
             BACKPLANE_SOURCE to its sources ('{}' are none)",
            source.display()
        ));
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let (build, prefix) = (out.join("build"), out.join("installed"));
    for folder in ["include", "src", "backends", "cmake"] {
        println!("cargo:rerun-if-changed={}", source.join(folder).display());
    }
    let mut configure: Vec<OsString> = vec!["-S".into(), source.clone().into(), "-B".into(), build.clone().into()];
    configure.push(format!("-DCMAKE_INSTALL_PREFIX={}", prefix.display()).into());
    configure.push("-DCMAKE_INSTALL_LIBDIR=lib".into());
    for setting in ["BACKPLANE_TESTS=OFF", "BACKPLANE_GGML_COMPAT=OFF", "BACKPLANE_UNITY=ON", "CMAKE_BUILD_TYPE=Release"] {
        configure.push(format!("-D{}", setting).into());
    }
    configure.push("-DBACKPLANE_TOOLS=OFF".into());
    configure.push(format!("-DBACKPLANE_MODELS={}", if models() { "ON" } else { "OFF" }).into());
    if variable("BACKPLANE_LIBRARY").map_or(false, |kind| kind == "shared") {
        configure.push("-DBUILD_SHARED_LIBS=ON".into());
    }
    if windows() {
        configure
            .push(format!("-DCMAKE_TOOLCHAIN_FILE={}", source.join("cmake/toolchains/mingw-w64.cmake").display()).into());
        configure.push("-DBACKPLANE_IMAGES=OFF".into());
        configure.push("-DBACKPLANE_AUDIO=OFF".into());
    }
    if !build.join("CMakeCache.txt").exists() && Command::new("ninja").arg("--version").output().is_ok() {
        configure.extend(["-G".into(), "Ninja".into()]);
    }
    if let Some(more) = variable("BACKPLANE_CMAKE_ARGS") {
        configure.extend(more.split_whitespace().map(OsString::from));
    }
    cmake(&configure);
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "2".into());
    cmake(&["--build".into(), build.clone().into(), "--parallel".into(), jobs.into()]);
    cmake(&["--install".into(), build.into()]);
    from_folder(&prefix).unwrap_or_else(|why| fail(&why))
}

fn cmake(arguments: &[OsString]) {
    let program = env::var_os("CMAKE").unwrap_or_else(|| "cmake".into());
    match Command::new(&program).args(arguments).status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("{:?} {:?} ended with {}: what it says above is why", program, arguments, status)),
        Err(why) => {
            fail(&format!("cannot start {:?}: {}; install CMake, or Backplane, and set BACKPLANE_DIR", program, why))
        }
    }
}

fn link(found: &Installed) {
    let is = |name: String| found.lib.join(name).exists();
    let has_static = is(format!("lib{}.a", library()));
    let has_shared =
        is(format!("lib{}.so", library())) || is(format!("lib{}.dylib", library())) || is(format!("lib{}.dll.a", library()));
    let shared = match variable("BACKPLANE_LIBRARY").as_deref() {
        None => has_shared && !(windows() && has_static), // there a program needs nothing beside it but its modules
        Some("shared") => true,
        Some("static") => false,
        Some(other) => fail(&format!("BACKPLANE_LIBRARY is '{}': it takes static or shared", other)),
    };
    if !(if shared { has_shared } else { has_static }) {
        fail(&format!(
            "BACKPLANE_LIBRARY asks for a {} library, and '{}' has none: build Backplane with BUILD_SHARED_LIBS={}, or leave it unset",
            if shared { "shared" } else { "static" },
            found.lib.display(),
            if shared { "ON" } else { "OFF" }
        ));
    }
    println!("cargo:rustc-link-search=native={}", found.lib.display());
    if shared {
        // It holds all that `backplane` holds, and was linked with what it needs.
        println!("cargo:rustc-link-lib=dylib={}", library());
    } else {
        for word in &found.others {
            match word.strip_prefix("-l") {
                Some("backplane_models") => println!("cargo:rustc-link-lib=static=backplane_models"),
                Some("backplane") => println!("cargo:rustc-link-lib=static=backplane"),
                Some("stdc++") if env::var("CARGO_CFG_TARGET_VENDOR").map_or(false, |v| v == "apple") => {
                    println!("cargo:rustc-link-lib=c++")
                }
                Some("stdc++") if windows() => static_runtime(),
                Some(name) => println!("cargo:rustc-link-lib={}", name),
                None if windows() => {} // of the runtime
                None => println!("cargo:rustc-link-lib=pthread"),
            }
        }
    }
    println!("cargo:include={}", found.include.display());
    println!("cargo:lib_dir={}", found.lib.display());
    println!("cargo:module_dir={}", found.modules.display());
    println!("cargo:kind={}", if shared { "shared" } else { "static" });
    println!("cargo:rustc-env=BACKPLANE_SYS_INCLUDE={}", found.include.display());
}

/// MinGW-w64's C++ runtime is linked into the program, which then needs nothing but Windows. The compiler says where it is.
fn static_runtime() {
    let compiler = variable("CXX").unwrap_or_else(|| "x86_64-w64-mingw32-g++-posix".into());
    let mut folders = Vec::new();
    for name in ["libstdc++.a", "libwinpthread.a"] {
        let answer = Command::new(&compiler).arg(format!("-print-file-name={}", name)).output();
        let path = answer.ok().and_then(|a| String::from_utf8(a.stdout).ok()).unwrap_or_default();
        match Path::new(path.trim()).parent() {
            Some(folder) if folder.is_absolute() => folders.push(folder.to_path_buf()),
            _ => {
                fail(&format!("'{}' does not say where {} is: set CXX to the compiler that built Backplane", compiler, name))
            }
        }
    }
    folders.dedup();
    for folder in folders {
        println!("cargo:rustc-link-search=native={}", folder.display());
    }
    println!("cargo:rustc-link-lib=static=stdc++");
    println!("cargo:rustc-link-lib=static=winpthread");
}

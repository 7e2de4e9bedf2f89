//! For the tests and examples of this crate: a shared library is found where it was when they were built.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    if of("DEP_BACKPLANE_KIND") == "shared" && of("CARGO_CFG_TARGET_OS") != "windows" {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", of("DEP_BACKPLANE_LIB_DIR"));
    }
    println!("cargo:rustc-env=BACKPLANE_BUILT_WITH_MODULES={}", of("DEP_BACKPLANE_MODULE_DIR"));
}

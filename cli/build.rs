//! Tells the linker where libraries are that make the commands run on older systems, if
//! `cargo xtask install` has made some.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=OLD_GLIBC_FOLDER");
    if let Ok(folder) = std::env::var("OLD_GLIBC_FOLDER") {
        println!("cargo:rustc-link-search=native={folder}");
        // The compiler's own library here may ask for younger functions; the one there does not.
        println!("cargo:rustc-link-arg=-Wl,--allow-shlib-undefined");
    }
}

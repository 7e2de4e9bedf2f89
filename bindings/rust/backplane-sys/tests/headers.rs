//! Holds the bindings to the C headers: a C source made of their sizes, offsets, values and function types must compile against the headers, with each
//! C compiler at hand; and nothing of the headers is left out.
#![cfg(not(windows))]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn include() -> &'static Path {
    Path::new(env!("BACKPLANE_SYS_INCLUDE"))
}

fn header(name: &str) -> String {
    let path = include().join("backplane").join(name);
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {}", path.display(), why))
}

fn headers() -> Vec<&'static str> {
    let mut names = vec!["backplane.h", "cost.h", "fit.h", "pipeline.h", "tune.h", "verify.h"];
    if cfg!(feature = "models") {
        names.extend(["model.h", "quantize.h", "transcriber.h", "upscaler.h", "weight_file.h"]);
    }
    names
}

type Functions = Vec<(&'static str, &'static [&'static str], &'static str)>;
fn functions() -> Functions {
    let mut all = backplane_sys::FUNCTIONS.to_vec();
    #[cfg(feature = "models")]
    all.extend(backplane_sys::MODEL_FUNCTIONS);
    all
}

type Structs = Vec<(&'static str, usize, Fields)>;
type Fields = Vec<(&'static str, usize, usize)>;
fn structs() -> Structs {
    #[allow(unused_mut)]
    let mut all = backplane_sys::STRUCTS();
    #[cfg(feature = "models")]
    all.extend(backplane_sys::MODEL_STRUCTS());
    all
}

fn values() -> Vec<(&'static str, i64)> {
    use backplane_sys::*;
    let lists = [
        CODES,
        DTYPES,
        LOG_LEVELS,
        KINDS,
        CAPABILITIES,
        ROLES,
        ATTRIBUTE_TYPES,
        MATHS,
        WHYS,
        LIMITS,
        MODES,
        OPS,
        ATTRIBUTES,
        MEMORIES,
        OPTION_TYPES,
        VERDICTS,
        CASES,
        PARTS,
    ];
    #[allow(unused_mut)]
    let mut all = lists.concat();
    #[cfg(feature = "models")]
    all.extend([DECODERS, STREAMINGS].concat());
    all
}

/// A type as C writes it.
fn in_c(rust: &str) -> String {
    let rust = rust.trim();
    if let Some(of) = rust.strip_prefix("*const ").or_else(|| rust.strip_prefix("* const ")) {
        return format!("{} const*", in_c(of));
    }
    if let Some(of) = rust.strip_prefix("*mut ").or_else(|| rust.strip_prefix("* mut ")) {
        return format!("{}*", in_c(of));
    }
    match rust {
        "" => "void",
        "u8" => "uint8_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "i64" => "int64_t",
        "f32" => "float",
        "f64" => "double",
        "usize" => "size_t",
        "c_char" => "char",
        "c_void" => "void",
        "bp_flag" => "volatile uint32_t",
        name => name,
    }
    .to_string()
}

/// A field's name in C: `type` and `in` are words of Rust.
fn field_in_c(rust: &str) -> &str {
    rust.strip_suffix('_').unwrap_or(rust)
}

fn source(spoil: &str) -> String {
    let mut c = String::from("#include <stddef.h>\n");
    for name in headers() {
        writeln!(c, "#include \"backplane/{}\"", name).unwrap();
    }
    for (name, size, fields) in structs() {
        let size = if spoil == "size" && name == "bp_error" { size + 8 } else { size };
        writeln!(c, "_Static_assert(sizeof({0}) == {1}, \"size of {0}\");", name, size).unwrap();
        for (field, offset, bytes) in fields {
            let offset = if spoil == "offset" && field == "native" { offset + 4 } else { offset };
            let of = format!("{}, {}", name, field_in_c(field));
            writeln!(c, "_Static_assert(offsetof({0}) == {1}, \"offset of {0}\");", of, offset).unwrap();
            writeln!(c, "_Static_assert(sizeof((({} *)0)->{}) == {}, \"size of {}\");", name, field_in_c(field), bytes, of)
                .unwrap();
        }
    }
    for (name, value) in values() {
        let value = if spoil == "value" && name == "BP_BUSY" { value + 1 } else { value };
        writeln!(c, "_Static_assert((int64_t)({0}) == {1}, \"value of {0}\");", name, value).unwrap();
    }
    writeln!(c, "_Static_assert(BP_NO_TENSOR == {}u, \"BP_NO_TENSOR\");", backplane_sys::BP_NO_TENSOR).unwrap();
    for (name, arguments, result) in functions() {
        let mut given: Vec<String> = arguments.iter().map(|a| in_c(a)).collect();
        if spoil == "type" && name == "backplane_tensor_rows" {
            given[1] = "int32_t".into();
        }
        let given = if given.is_empty() { "void".to_string() } else { given.join(", ") };
        writeln!(c, "{} {}({});", in_c(result), name, given).unwrap();
    }
    c
}

/// What the compiler says of the source; None: there is no such compiler.
fn compiled(compiler: &str, spoil: &str) -> Option<Output> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("headers_{}_{}.c", compiler.replace('/', "_"), spoil));
    fs::write(&path, source(spoil)).unwrap();
    let command =
        Command::new(compiler).args(["-std=c11", "-fsyntax-only", "-Werror", "-I"]).arg(include()).arg(&path).output();
    command.ok()
}

#[test]
fn sizes_offsets_values_and_types_are_those_of_the_headers() {
    let own = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut tried = 0;
    for compiler in [own.as_str(), "clang", "x86_64-w64-mingw32-gcc"] {
        if let Some(said) = compiled(compiler, "") {
            assert!(said.status.success(), "{}: {}", compiler, String::from_utf8_lossy(&said.stderr));
            tried += 1;
        }
    }
    assert!(tried > 0, "no C compiler: install one, or set CC");
}

#[test]
fn what_differs_is_found() {
    let own = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    for (spoil, names) in
        [("size", "bp_error"), ("offset", "native"), ("value", "BP_BUSY"), ("type", "backplane_tensor_rows")]
    {
        let said = compiled(&own, spoil).expect("a C compiler: install one, or set CC");
        let text = String::from_utf8_lossy(&said.stderr);
        assert!(!said.status.success() && text.contains(names), "a wrong {} is not seen: {}", spoil, text);
    }
}

/// The words of a text that begin with `prefix`.
fn words<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(move |word| word.starts_with(prefix))
}

#[test]
fn no_function_and_no_struct_is_left_out() {
    let functions: BTreeSet<&str> = functions().iter().map(|f| f.0).collect();
    let structs: BTreeSet<&str> = structs().iter().map(|s| s.0).collect();
    let mut seen = 0;
    for name in headers() {
        let text = header(name);
        for declaration in text.split("BACKPLANE_API ").skip(1) {
            let before = declaration.split('(').next().unwrap();
            let function = match words(before, "backplane_").last() {
                Some(word) if before.trim_end().ends_with(word) => word,
                _ => continue, // the definition of the macro itself
            };
            assert!(functions.contains(function), "{} has {}, the bindings have not", name, function);
            seen += 1;
        }
        for end in text.split("\n} ").skip(1) {
            let defined = words(end.split(';').next().unwrap(), "backplane_").next().unwrap_or("");
            assert!(structs.contains(defined), "{} has struct {}, the bindings have not", name, defined);
        }
    }
    assert_eq!(seen, functions.len(), "functions of the bindings that no header has");
}

#[test]
fn no_value_is_left_out() {
    let mut known: BTreeSet<String> = values().iter().map(|v| v.0.to_string()).collect();
    // Of the module ABI: what the C API neither takes nor gives.
    let of_modules = ["BP_ID_", "BP_COMPILE_", "BP_COPY_", "BP_ABI"];
    for name in ["module.h", "ops.h"] {
        for line in header(name).split("enum {").skip(1) {
            let list = line.split('}').next().unwrap();
            for item in list.split(" = ").filter_map(|before| words(before, "BP_").last()) {
                let modules_own = of_modules.iter().any(|prefix| item.starts_with(prefix));
                let macro_of_ops = item.ends_with("ENUMERATOR")
                    || item.ends_with("_unknown")
                    || item == "BP_OPS"
                    || item == "BP_ATTRIBUTES";
                assert!(modules_own || macro_of_ops || known.contains(item), "{} has {}, the bindings have not", name, item);
            }
        }
    }
    for name in headers() {
        for define in header(name).split("#define ").skip(1).filter_map(|line| words(line, "BACKPLANE_").next()) {
            let own = define.ends_with("_H")
                || define == "BACKPLANE_API"
                || !header(name).contains(&format!("#define {}", define));
            assert!(own || known.contains(define), "{} has {}, the bindings have not", name, define);
        }
    }
    let ops = header("ops.h");
    let (first, second) = ops.split_at(ops.find("#define BP_ATTRIBUTES").unwrap());
    for (text, prefix) in [(first, "BP_OP_"), (second, "BP_ATTR_")] {
        let mut rows = 0;
        for row in text.split("X(").skip(2) {
            let mut parts = row.split(", ");
            if parts.next().map_or(true, |number| number.parse::<u32>().is_err()) {
                continue;
            }
            let name = format!("{}{}", prefix, parts.next().unwrap());
            assert!(known.remove(&name), "ops.h has {}, the bindings have not", name);
            rows += 1;
        }
        assert!(rows > 50, "{} rows of {}", rows, prefix);
    }
}

//! Weights from files, the wrong uses first.
#![cfg(feature = "models")]
mod support;

use backplane::{Attr, Attribute, CancelFlag, Code, DType, Graph, Input, Op, Output, QuantizeOptions, Session, WeightFile};
use support::{context, Folder};

fn safetensors() -> Vec<u8> {
    let header = br#"{"__metadata__":{"by":"a test"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend([1f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|w| w.to_le_bytes()));
    file
}

#[test]
fn a_file_that_is_not_there_or_none() {
    let folder = Folder::new("bad-weights");
    let error = WeightFile::open("no-such.safetensors").err().unwrap();
    assert!(error.code() == Code::NotFound && error.message().contains("no-such"), "{}", error);
    let file = folder.0.join("cut.safetensors");
    std::fs::write(&file, &safetensors()[..90]).unwrap();
    assert_eq!(WeightFile::open(&file).err().unwrap().code(), Code::Corrupt);
}

#[test]
fn weights_are_found_by_name_and_outlive_the_file() {
    let (context, folder) = (context(), Folder::new("weights"));
    let path = folder.0.join("w.safetensors");
    std::fs::write(&path, safetensors()).unwrap();
    let file = WeightFile::open(&path).unwrap();
    assert_eq!(file.format().unwrap(), "safetensors");
    assert!(file.metadata_json().unwrap().contains("a test"));
    let all = file.tensors().unwrap();
    assert_eq!((all.len(), all[0].name.as_str(), all[0].dtype, all[0].bytes), (1, "w", Some(DType::F32), 24));
    assert_eq!((all[0].shape.as_slice(), all[0].type_name.as_str()), (&[2i64, 3][..], "F32"));
    assert_eq!(file.find("w").unwrap(), all[0]);
    let error = file.find("W").err().unwrap();
    assert!(error.code() == Code::NotFound && error.message().contains("named 'W'"), "{}", error);
    assert!(file.data("W").is_none() && file.data("w\0").is_none());
    assert_eq!(file.data("w").unwrap()[..4], 1f32.to_le_bytes());

    let mut graph = Graph::new().unwrap();
    let x = graph.input("x", DType::F32, &[1, 3]).unwrap();
    assert_eq!(file.add(&mut graph, "W").err().unwrap().code(), Code::NotFound);
    let w = file.add(&mut graph, "w").unwrap();
    let transposed = Attribute::int(Attr::from_name("transpose_b").unwrap(), 1);
    let y = graph.add(Op::from_name("MatMul").unwrap(), &[x, w], &[transposed]).unwrap();
    graph.output(y, "y").unwrap();
    let weights = file.weights().unwrap();
    drop(file);
    let mut session = Session::new(&context.open("cpu").unwrap(), &graph, &weights).unwrap();
    drop(weights);
    let mut y = [0f32; 2];
    session.run(&[Input::new("x", &[1f32, 10.0, 100.0])], &mut [Output::new("y", &mut y)], None).unwrap();
    assert_eq!(y, [321.0, 654.0]);
}

#[test]
fn weights_are_written_in_fewer_bits() {
    let folder = Folder::new("fewer-bits");
    let (path, out) = (folder.0.join("w.safetensors"), folder.0.join("w.gguf"));
    std::fs::write(&path, safetensors()).unwrap();
    let file = WeightFile::open(&path).unwrap();
    let wrong = QuantizeOptions { dtype: Some(DType::I32), ..Default::default() };
    assert_eq!(file.quantize(&out, wrong).err().unwrap().code(), Code::Invalid);
    let cancel = CancelFlag::new();
    cancel.cancel();
    let cancelled = QuantizeOptions { cancel: Some(&cancel), ..Default::default() };
    assert_eq!(file.quantize(&out, cancelled).err().unwrap().code(), Code::Cancelled);
    let nul = QuantizeOptions { keep: &["a\0b"], ..Default::default() };
    assert_eq!(file.quantize(&out, nul).err().unwrap().code(), Code::Invalid);
    assert!(!out.exists());

    let mut last = 0.0;
    let mut note = |done: f64| last = done;
    let options = QuantizeOptions { dtype: DType::from_name("f16"), progress: Some(&mut note), ..Default::default() };
    let made = file.quantize(&out, options).unwrap();
    assert_eq!((last, made.len(), made[0].name.as_str(), made[0].from.as_str()), (1.0, 1, "w", "F32"));
    assert_eq!((Some(made[0].dtype), made[0].bytes_before, made[0].bytes_after), (DType::from_name("f16"), 24, 12));
    assert_eq!((made[0].shape.as_slice(), made[0].error, made[0].why.as_str()), (&[2i64, 3][..], 0.0, ""));
    assert_eq!(WeightFile::open(&out).unwrap().find("w").unwrap().bytes, 12);
    let kept = file.quantize(&out, QuantizeOptions { keep: &["w*"], ..Default::default() }).unwrap();
    assert!(kept[0].dtype == DType::F32 && kept[0].why.contains("w*"), "{:?}", kept);
}

#[test]
fn a_panic_of_who_is_told_comes_out_again() {
    let folder = Folder::new("panic-of-progress");
    let (path, out) = (folder.0.join("w.safetensors"), folder.0.join("w.gguf"));
    std::fs::write(&path, safetensors()).unwrap();
    let file = WeightFile::open(&path).unwrap();
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut fails = |_: f64| panic!("told");
        file.quantize(&out, QuantizeOptions { progress: Some(&mut fails), ..Default::default() })
    }));
    assert_eq!(told.err().unwrap().downcast_ref::<&str>(), Some(&"told"));
}

//! Speech and pictures: the wrong uses first.
#![cfg(feature = "models")]
mod support;

use backplane::{CancelFlag, Code, DType, Decoder, Transcriber, TranscriberOptions, Transcript, UpscaleOptions, Upscaler};
use std::panic::{catch_unwind, AssertUnwindSafe};
use support::{context, speech, write_network, Folder};

fn picture() -> Vec<u8> {
    (0..60 * 50 * 3).map(|i| (i * 37 % 251) as u8).collect()
}

fn tiles<'a>() -> UpscaleOptions<'a> {
    UpscaleOptions { tile: 32, ..UpscaleOptions::default() }
}

#[test]
fn a_network_for_pictures_that_is_not_there_or_none() {
    let (context, folder) = (context(), Folder::new("bad-network"));
    let error = Upscaler::new(&context, "cpu", "no-such.gguf").err().unwrap();
    assert!(error.code() == Code::NotFound && error.message().contains("no-such.gguf"), "{}", error);
    let file = folder.0.join("none.gguf");
    std::fs::write(&file, b"GGUF\x03\0\0\0").unwrap();
    assert_eq!(Upscaler::new(&context, "cpu", &file).err().unwrap().code(), Code::Corrupt);
    write_network(&file);
    assert_eq!(Upscaler::new(&context, "no-such", &file).err().unwrap().code(), Code::NotFound);
    assert_eq!(Upscaler::on(&[], &file, DType::F32).err().unwrap().code(), Code::Invalid);
    assert_eq!(Upscaler::on(&[context.open("cpu").unwrap()], &file, DType::I8).err().unwrap().code(), Code::Invalid);
    let (model, _) = speech();
    assert_eq!(Upscaler::new(&context, "cpu", model).err().unwrap().code(), Code::Corrupt);
}

#[test]
fn pictures_are_enlarged_in_tiles_that_are_told_of() {
    let (context, folder) = (context(), Folder::new("pictures"));
    let file = folder.0.join("tiny.gguf");
    write_network(&file);
    let mut upscaler = Upscaler::new(&context, "cpu", &file).unwrap();
    drop(context);
    let info = upscaler.info().unwrap();
    assert!(
        info.scale == 2 && info.name == "tiny-x2" && info.device == "cpu:0" && !info.why.is_empty() && info.parameters > 0
    );
    let error = upscaler.run(&picture(), 60, 51, 3, tiles()).err().unwrap();
    assert!(error.code() == Code::Invalid && error.message().contains("9000 bytes"), "{}", error);
    assert_eq!(upscaler.run(&[], 0x8000_0000, 0x8000_0000, 4, tiles()).err().unwrap().code(), Code::Invalid);
    assert_eq!(
        upscaler.run(&picture(), 60, 50, 3, UpscaleOptions { tile: -1, ..tiles() }).err().unwrap().code(),
        Code::Invalid
    );

    let mut heard = Vec::new();
    let mut progress = |done, of| heard.push((done, of));
    let (large, made) =
        upscaler.run(&picture(), 60, 50, 3, UpscaleOptions { progress: Some(&mut progress), ..tiles() }).unwrap();
    assert_eq!((large.len(), made.width, made.height, made.channels, made.tile), (120 * 100 * 3, 120, 100, 3, 32));
    assert!(made.tiles > 1 && heard.len() as i64 == made.tiles + 1 && heard.last() == Some(&(made.tiles, made.tiles)));
    assert!(large.iter().any(|b| *b != large[0]));
    assert_eq!(upscaler.run(&picture(), 60, 50, 3, tiles()).unwrap().0, large);

    let cancel = CancelFlag::new();
    let mut stop = |done, _| {
        if done == 2 {
            cancel.cancel();
        }
    };
    let options = UpscaleOptions { progress: Some(&mut stop), cancel: Some(&cancel), ..tiles() };
    assert_eq!(upscaler.run(&picture(), 60, 50, 3, options).err().unwrap().code(), Code::Cancelled);
    let mut calls = 0;
    let mut panics = |_, _| {
        calls += 1;
        panic!("told");
    };
    let options = UpscaleOptions { progress: Some(&mut panics), ..tiles() };
    let caught = catch_unwind(AssertUnwindSafe(|| upscaler.run(&picture(), 60, 50, 3, options).map(drop)));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"told"));
    assert_eq!(calls, 1);
    assert_eq!(upscaler.run(&picture(), 60, 50, 3, tiles()).unwrap().0, large, "it goes on after a panic");
}

#[test]
fn a_picture_is_read_and_written() {
    let (context, folder) = (context(), Folder::new("files"));
    let (file, out) = (folder.0.join("tiny.gguf"), folder.0.join("out.png"));
    write_network(&file);
    let mut upscaler = Upscaler::on(&[context.open("cpu").unwrap()], &file, DType::F32).unwrap();
    let error = upscaler.run_file("no-such.png", &out, tiles()).err().unwrap();
    if error.code() == Code::Unsupported {
        return assert!(error.message().contains("BACKPLANE_IMAGES"), "{}", error);
        // a build that reads no pictures says so
    }
    assert_eq!(error.code(), Code::NotFound);
    let photo = folder.0.join("photo.jpg");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/before-after.jpg"), &photo).unwrap();
    assert_eq!(upscaler.run_file(&photo, folder.0.join("out.webp"), tiles()).err().unwrap().code(), Code::Invalid);
    let made = upscaler.run_file(&photo, &out, UpscaleOptions::default()).unwrap();
    assert_eq!(&std::fs::read(&out).unwrap()[..4], b"\x89PNG");
    assert!(made.width > 100 && made.height > 100 && made.seconds > 0.0);
}

#[test]
fn a_network_for_speech_that_is_not_there_or_cannot() {
    let context = context();
    let (model, _) = speech();
    let error = Transcriber::new(&context, "cpu", "no-such.gguf").err().unwrap();
    assert!(error.code() == Code::NotFound && error.message().contains("no-such.gguf"), "{}", error);
    assert_eq!(Transcriber::new(&context, "no-such", &model).err().unwrap().code(), Code::NotFound);
    let with = |options: TranscriberOptions| Transcriber::with(&context, "cpu", &model, &options).err().unwrap().code();
    assert_eq!(with(TranscriberOptions { window: 1.0, ..Default::default() }), Code::Invalid);
    assert_eq!(with(TranscriberOptions { memory: 1, ..Default::default() }), Code::NoDeviceMemory);
    assert_eq!(with(TranscriberOptions { dtype: Some(DType::I8), ..Default::default() }), Code::Invalid);
    assert_eq!(with(TranscriberOptions { vad: Some("no/such.onnx".into()), ..Default::default() }), Code::NotFound);
    assert_eq!(Transcriber::on(&[], &model, &Default::default()).err().unwrap().code(), Code::Invalid);
}

/// Half a second of a tone; what is said in it does not matter, but that each way in says the same.
fn tone() -> Vec<f32> {
    (0..8000).map(|i| (i as f32 * 0.05).sin() * 0.3).collect()
}

#[test]
fn every_way_in_says_the_same() {
    let context = context();
    let (model, _) = speech();
    let mut transcriber = Transcriber::new(&context, "cpu", &model).unwrap();
    drop(context);
    let info = transcriber.info().unwrap();
    assert_eq!((info.sample_rate, info.device.as_str(), info.decoder), (16000, "cpu:0", Decoder::Tdt));
    assert_eq!(transcriber.run(&[f32::NAN; 16000], None).err().unwrap().code(), Code::Invalid);
    assert!(transcriber.run_file("no-such.wav", None).is_err());
    let cancel = CancelFlag::new();
    cancel.cancel();
    assert_eq!(transcriber.run(&tone(), Some(&cancel)).err().unwrap().code(), Code::Cancelled);

    let samples = tone();
    let whole = transcriber.run(&samples, None).unwrap();
    assert!((whole.seconds() - 0.5).abs() < 1e-6);
    let mut left = &samples[..];
    let pieces = transcriber.run_source(
        |into| {
            let n = into.len().min(left.len()).min(1234);
            into[..n].copy_from_slice(&left[..n]);
            left = &left[n..];
            n
        },
        None,
    );
    assert_eq!(pieces.unwrap().text(), whole.text());
    let clips = transcriber.run_clips(&[&samples, &[], &samples], None).unwrap();
    assert_eq!(clips.iter().map(Transcript::text).collect::<Vec<_>>(), [whole.text(), String::new(), whole.text()]);
    assert!(transcriber.run_clips(&[], None).unwrap().is_empty());
    assert_eq!(transcriber.run_source(|into| into.len() + 1, None).err().unwrap().code(), Code::Invalid);
    let caught = catch_unwind(AssertUnwindSafe(|| transcriber.run_source(|_| panic!("no more"), None).map(drop)));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"no more"));
    assert!(transcriber.plan().unwrap().contains("cpu:0") && transcriber.notes().unwrap().is_empty());

    let mut stream = transcriber.stream().unwrap();
    stream.feed(&samples, None).unwrap();
    stream.finish(None).unwrap();
    while let Some((line, _)) = stream.next_line().unwrap() {
        assert!(line.seconds() > 0.0);
    }
    drop(stream);
    let sent = std::thread::spawn(move || transcriber.run(&tone(), None).unwrap().text()).join().unwrap();
    assert_eq!(sent, whole.text());
}

#[test]
fn a_sentence_is_written_down_word_by_word() {
    let context = context();
    let (model, clip) = speech();
    let mut transcriber = Transcriber::new(&context, "cpu", &model).unwrap();
    let said = match transcriber.run_file(clip, None) {
        Err(error) if error.code() == Code::Unsupported => {
            return assert!(error.message().contains("BACKPLANE_AUDIO"), "{}", error)
        }
        said => said.unwrap(),
    };
    assert!(said.text().starts_with("there are many things that can be said about the weather"), "{}", said.text());
    let words = said.words().unwrap();
    assert_eq!(words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" "), said.text());
    assert!(words.windows(2).all(|w| w[0].start <= w[1].start) && words.iter().all(|w| w.end <= said.seconds() + 1e-6));
    assert!(words.iter().all(|w| w.confidence > 0.0 && w.confidence <= 1.0));
}

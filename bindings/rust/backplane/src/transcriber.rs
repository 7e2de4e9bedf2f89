//! Speech to text with Parakeet networks.

use crate::context::Keep;
use crate::raw::{self, Caught};
use crate::{CancelFlag, Context, DType, Device, Result};
use backplane_sys as sys;
use std::cell::RefCell;
use std::ffi::{c_void, CStr};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// What makes text of what the network hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decoder {
    /// TDT or RNN-T where the network has it, else CTC.
    Automatic = sys::BACKPLANE_DECODER_AUTOMATIC as isize,
    /// Connectionist temporal classification.
    Ctc = sys::BACKPLANE_DECODER_CTC as isize,
    /// Recurrent network transducer.
    Rnnt = sys::BACKPLANE_DECODER_RNNT as isize,
    /// Token and duration transducer.
    Tdt = sys::BACKPLANE_DECODER_TDT as isize,
}

/// Whether weights stay on the device or are copied for each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Streaming {
    /// Fewer and shorter windows at once, then weights are copied.
    Automatic = sys::BACKPLANE_STREAMING_AUTOMATIC as isize,
    /// They stay.
    Never = sys::BACKPLANE_STREAMING_NEVER as isize,
    /// They are copied, also where there is room.
    Always = sys::BACKPLANE_STREAMING_ALWAYS as isize,
}

/// How a network is loaded. `TranscriberOptions::default()` suits most.
#[derive(Clone, Debug)]
pub struct TranscriberOptions {
    /// What makes text.
    pub decoder: Decoder,
    /// Of feature maps: None, f32 beside matrices as the file has them, or f16 for both.
    pub dtype: Option<DType>,
    /// Activations are not rounded to bytes beside matrices in blocks.
    pub exact: bool,
    /// Seconds that the network sees at once, 5 to 1200; 0: 30.
    pub window: f64,
    /// Windows at once; 0: one on a CPU, eight elsewhere.
    pub batch: i64,
    /// Bytes of the first device that all of it may take; 0: what there is.
    pub memory: u64,
    /// Whether weights are copied for each run, where there is no room for all of them.
    pub streaming: Streaming,
    /// What finds pauses: None, Silero VAD where its file lies beside the model; "never"; or its file.
    pub vad: Option<PathBuf>,
}

impl Default for TranscriberOptions {
    fn default() -> Self {
        TranscriberOptions {
            decoder: Decoder::Automatic,
            dtype: None,
            exact: false,
            window: 0.0,
            batch: 0,
            memory: 0,
            streaming: Streaming::Automatic,
            vad: None,
        }
    }
}

/// A network, on the device that the library chose or was given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TranscriberInfo {
    /// What makes text.
    pub decoder: Decoder,
    /// That samples must have: 16000.
    pub sample_rate: i64,
    /// Of the network.
    pub name: String,
    /// "vulkan:0"
    pub device: String,
    /// The chip, as people know it.
    pub device_name: String,
    /// Why that device was chosen; empty where the caller gave it.
    pub why: String,
    /// What finds pauses: "silero-vad" or "energy".
    pub pauses_by: String,
}

/// A word. Times are in seconds from the first sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// What was said.
    pub text: String,
    /// When it begins.
    pub start: f64,
    /// When it ends.
    pub end: f64,
    /// 0 to 1: the mean probability of its pieces.
    pub confidence: f64,
}

/// What was said. It does not change: any number of threads.
pub struct Transcript {
    raw: NonNull<sys::backplane_transcript>,
}

// SAFETY: transcriber.h: transcripts do not change, any number of threads.
unsafe impl Send for Transcript {}
// SAFETY: as above.
unsafe impl Sync for Transcript {}

impl Drop for Transcript {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_transcript_destroy(self.raw.as_ptr()) }
    }
}

impl Transcript {
    /// The words with a space between.
    pub fn text(&self) -> String {
        // SAFETY: a text with its zero that lives as long as the transcript.
        unsafe { CStr::from_ptr(sys::backplane_transcript_text(self.raw.as_ptr())) }.to_string_lossy().into_owned()
    }
    /// Of audio.
    pub fn seconds(&self) -> f64 {
        // SAFETY: the handle lives.
        unsafe { sys::backplane_transcript_seconds(self.raw.as_ptr()) }
    }
    /// The words, with their times.
    pub fn words(&self) -> Result<Vec<Word>> {
        let empty = sys::backplane_word {
            struct_size: raw::size_of::<sys::backplane_word>(),
            reserved: 0,
            text: std::ptr::null(),
            start: 0.0,
            end: 0.0,
            confidence: 0.0,
        };
        // SAFETY: `records` gives room for as many as it says.
        let all = raw::records(empty, |words, room, count, error| unsafe {
            sys::backplane_transcript_words(self.raw.as_ptr(), words, room, count, error)
        })?;
        // SAFETY: texts with their zeros that live as long as the transcript.
        let text = |w: &sys::backplane_word| unsafe { CStr::from_ptr(w.text) }.to_string_lossy().into_owned();
        Ok(all.iter().map(|w| Word { text: text(w), start: w.start, end: w.end, confidence: w.confidence }).collect())
    }
}

/// A Parakeet network on a device. Any thread, one call at a time on it and its streams:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<backplane::Transcriber>();
/// ```
///
/// ```compile_fail,E0499
/// fn both(transcriber: &mut backplane::Transcriber) -> backplane::Result<()> {
///     let mut stream = transcriber.stream()?;
///     transcriber.run(&[], None)?;
///     stream.finish(None)
/// }
/// ```
///
/// ```no_run
/// # fn main() -> backplane::Result<()> {
/// let context = backplane::Context::new()?;
/// let mut transcriber = backplane::Transcriber::new(&context, "", "parakeet.gguf")?;
/// println!("{}", transcriber.run_file("talk.flac", None)?.text());
/// # Ok(()) }
/// ```
pub struct Transcriber {
    raw: NonNull<sys::backplane_transcriber>,
    _keep: Keep,
}

// SAFETY: transcriber.h: any thread, one call at a time.
unsafe impl Send for Transcriber {}

impl Drop for Transcriber {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_transcriber_destroy(self.raw.as_ptr()) }
    }
}

type SampleSource<'a> = dyn FnMut(&mut [f32]) -> usize + Send + 'a;
struct Samples<'a> {
    source: RefCell<&'a mut SampleSource<'a>>,
    caught: Caught,
}

unsafe extern "C" fn give(arg: *mut c_void, into: *mut f32, room: u64) -> u64 {
    // SAFETY: the Samples of the call that is under way, which asks one time after the other.
    let samples = unsafe { &*(arg as *const Samples<'_>) };
    // SAFETY: room for so many samples, which hold numbers.
    let into = unsafe { std::slice::from_raw_parts_mut(into, room as usize) };
    samples.caught.run(|| (samples.source.borrow_mut())(into) as u64).unwrap_or(0)
}

impl Transcriber {
    /// On the device that the library chooses (filter as [`Context::open`] takes it), and behind it the CPU. model: a GGUF file, or a folder of
    /// transformers.
    pub fn new(context: &Context, filter: &str, model: impl AsRef<Path>) -> Result<Transcriber> {
        Transcriber::with(context, filter, model, &TranscriberOptions::default())
    }
    /// The same with options.
    pub fn with(
        context: &Context,
        filter: &str,
        model: impl AsRef<Path>,
        options: &TranscriberOptions,
    ) -> Result<Transcriber> {
        let filter = raw::c_string(filter, "the device filter")?;
        let model = raw::c_path(model.as_ref(), "the model")?;
        let vad = options.vad.as_deref().map(|p| raw::c_path(p, "the voice detector")).transpose()?;
        let options = options_for(options, raw::pointer_of(&vad));
        // SAFETY: texts with their zeros, a record with its size.
        let raw = raw::make(|out, error| unsafe {
            sys::backplane_transcriber_create(context.raw(), filter.as_ptr(), model.as_ptr(), &options, out, error)
        })?;
        Ok(Transcriber { raw, _keep: context.keep.clone() })
    }
    /// On these devices, best first.
    pub fn on(devices: &[Device], model: impl AsRef<Path>, options: &TranscriberOptions) -> Result<Transcriber> {
        let handles: Vec<*mut sys::backplane_device> = devices.iter().map(Device::raw).collect();
        let model = raw::c_path(model.as_ref(), "the model")?;
        let vad = options.vad.as_deref().map(|p| raw::c_path(p, "the voice detector")).transpose()?;
        let options = options_for(options, raw::pointer_of(&vad));
        // SAFETY: as many handles as are said, which live.
        let raw = raw::make(|out, error| unsafe {
            sys::backplane_transcriber_create_on(
                handles.as_ptr(),
                handles.len() as u32,
                model.as_ptr(),
                &options,
                out,
                error,
            )
        })?;
        Ok(Transcriber { raw, _keep: devices[0].keep() })
    }
    /// Of the network, and why it runs where.
    pub fn info(&self) -> Result<TranscriberInfo> {
        let mut info = sys::backplane_transcriber_info {
            struct_size: raw::size_of::<sys::backplane_transcriber_info>(),
            decoder: 0,
            sample_rate: 0,
            name: [0; 256],
            device: [0; 64],
            device_name: [0; 256],
            why: [0; 512],
            pauses_by: [0; 32],
        };
        // SAFETY: a record with its size.
        raw::call(|error| unsafe { sys::backplane_transcriber_get_info(self.raw.as_ptr(), &mut info, error) })?;
        Ok(TranscriberInfo {
            decoder: match info.decoder {
                sys::BACKPLANE_DECODER_CTC => Decoder::Ctc,
                sys::BACKPLANE_DECODER_RNNT => Decoder::Rnnt,
                _ => Decoder::Tdt,
            },
            sample_rate: info.sample_rate,
            name: raw::member(&info.name),
            device: raw::member(&info.device),
            device_name: raw::member(&info.device_name),
            why: raw::member(&info.why),
            pauses_by: raw::member(&info.pauses_by),
        })
    }
    /// The plans of the sizes met last, in lines.
    pub fn plan(&self) -> Result<String> {
        // SAFETY: `text` gives room for as many bytes as it says.
        raw::text(|text, room, size, error| unsafe {
            sys::backplane_transcriber_plan(self.raw.as_ptr(), text, room, size, error)
        })
    }
    /// What is not where it was wanted, and why, in lines.
    pub fn notes(&self) -> Result<String> {
        // SAFETY: as above.
        raw::text(|text, room, size, error| unsafe {
            sys::backplane_transcriber_notes(self.raw.as_ptr(), text, room, size, error)
        })
    }

    /// Samples, mono, of the network's rate, -1 to 1, any number of them.
    pub fn run(&mut self, samples: &[f32], cancel: Option<&CancelFlag>) -> Result<Transcript> {
        let (raw, flag) = (self.raw.as_ptr(), CancelFlag::raw_of(cancel));
        // SAFETY: as many samples as are said.
        let said = raw::make(|out, error| unsafe {
            sys::backplane_transcriber_run(raw, samples.as_ptr(), samples.len() as u64, flag, out, error)
        })?;
        Ok(Transcript { raw: said })
    }
    /// A sound file of any length, rate and number of channels.
    pub fn run_file(&mut self, path: impl AsRef<Path>, cancel: Option<&CancelFlag>) -> Result<Transcript> {
        let path = raw::c_path(path.as_ref(), "the sound file")?;
        let (raw, flag) = (self.raw.as_ptr(), CancelFlag::raw_of(cancel));
        // SAFETY: a text with its zero.
        let said =
            raw::make(|out, error| unsafe { sys::backplane_transcriber_run_file(raw, path.as_ptr(), flag, out, error) })?;
        Ok(Transcript { raw: said })
    }
    /// Samples of any length: `source` writes the next ones into what it is given and returns how many; 0: that was all.
    pub fn run_source(
        &mut self,
        mut source: impl FnMut(&mut [f32]) -> usize + Send,
        cancel: Option<&CancelFlag>,
    ) -> Result<Transcript> {
        let samples = Samples { source: RefCell::new(&mut source), caught: Caught::default() };
        let (raw, flag) = (self.raw.as_ptr(), CancelFlag::raw_of(cancel));
        // SAFETY: the argument lives through the call.
        let said = raw::make(|out, error| unsafe {
            sys::backplane_transcriber_run_source(raw, Some(give), raw::argument(&samples), flag, out, error)
        });
        let said = said.map(|raw| Transcript { raw });
        samples.caught.resume();
        said
    }
    /// Several clips, as many at once as `batch` says, in their order.
    pub fn run_clips(&mut self, clips: &[&[f32]], cancel: Option<&CancelFlag>) -> Result<Vec<Transcript>> {
        let given: Vec<sys::backplane_clip> =
            clips.iter().map(|c| sys::backplane_clip { samples: c.as_ptr(), count: c.len() as u64 }).collect();
        let mut out = vec![std::ptr::null_mut(); given.len()];
        let (raw, flag) = (self.raw.as_ptr(), CancelFlag::raw_of(cancel));
        // SAFETY: as many clips as are said, and room for as many transcripts.
        raw::call(|error| unsafe {
            sys::backplane_transcriber_run_clips(raw, given.as_ptr(), given.len() as u32, flag, out.as_mut_ptr(), error)
        })?;
        Ok(out.into_iter().filter_map(NonNull::new).map(|raw| Transcript { raw }).collect())
    }
    /// Speech as it comes. The transcriber is the stream's until it is dropped.
    pub fn stream(&mut self) -> Result<TranscriptStream<'_>> {
        // SAFETY: the handle lives.
        let raw = raw::make(|out, error| unsafe { sys::backplane_transcript_stream_create(self.raw.as_ptr(), out, error) })?;
        Ok(TranscriptStream { raw, _of: PhantomData })
    }
}

fn options_for(options: &TranscriberOptions, vad: *const std::os::raw::c_char) -> sys::backplane_transcriber_options {
    sys::backplane_transcriber_options {
        struct_size: raw::size_of::<sys::backplane_transcriber_options>(),
        decoder: options.decoder as u32,
        dtype: options.dtype.map_or(0, |d| d.0),
        exact: options.exact.into(),
        window: options.window,
        batch: options.batch,
        vad,
        memory: options.memory,
        streaming: options.streaming as u32,
        reserved: 0,
    }
}

/// Speech as it comes; [`Transcriber::stream`].
pub struct TranscriptStream<'a> {
    raw: NonNull<sys::backplane_transcript_stream>,
    _of: PhantomData<&'a mut Transcriber>,
}

// SAFETY: transcriber.h: any thread, one call at a time on a transcriber and its streams; this one borrows it.
unsafe impl Send for TranscriptStream<'_> {}

impl Drop for TranscriptStream<'_> {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_transcript_stream_destroy(self.raw.as_ptr()) }
    }
}

impl TranscriptStream<'_> {
    /// Takes samples of any number, also where it answers [`crate::Code::Cancelled`]: what they say then comes with the next call.
    pub fn feed(&mut self, samples: &[f32], cancel: Option<&CancelFlag>) -> Result<()> {
        let flag = CancelFlag::raw_of(cancel);
        // SAFETY: as many samples as are said.
        raw::call(|error| unsafe {
            sys::backplane_transcript_stream_feed(self.raw.as_ptr(), samples.as_ptr(), samples.len() as u64, flag, error)
        })
    }
    /// What is left becomes final; the stream begins anew.
    pub fn finish(&mut self, cancel: Option<&CancelFlag>) -> Result<()> {
        let flag = CancelFlag::raw_of(cancel);
        // SAFETY: the handle lives.
        raw::call(|error| unsafe { sys::backplane_transcript_stream_finish(self.raw.as_ptr(), flag, error) })
    }
    /// The next line that feeding or finishing made, and whether it is final; None: there is none. One that is not comes again with more.
    pub fn next_line(&mut self) -> Result<Option<(Transcript, bool)>> {
        let (mut out, mut last) = (std::ptr::null_mut(), 0u32);
        // SAFETY: places for what it gives.
        raw::call(|error| unsafe { sys::backplane_transcript_stream_next(self.raw.as_ptr(), &mut out, &mut last, error) })?;
        Ok(NonNull::new(out).map(|raw| (Transcript { raw }, last != 0)))
    }
}

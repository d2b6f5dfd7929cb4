//! An answer is that of its own order, whatever was asked before; pieces add up, and what cannot be had is refused.

use super::*;
use crate::engine::error::Stop;
use crate::engine::rows::Packed;

fn responder() -> Model<Cpu> {
    let model = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
    let model = ModelSource { path: model, seed: None, adapter: None, name: String::from("built-in") };
    Model::load(&model, &PromptSpec::default(), &Arc::new(Cpu), None).unwrap()
}

fn order(prompts: &[&str]) -> Order {
    Order {
        project: String::from("prj_a"),
        model: String::from("builtin:arith-tiny"),
        input: CompletionInput::Texts(prompts.iter().map(|text| (*text).to_owned()).collect()),
        samples: 1,
        max_tokens: None,
        temperature: 1.0,
        top_p: 1.0,
        stop: Vec::new(),
        seed: 5,
        logprobs: false,
        top_logprobs: 0,
        echo: false,
    }
}

fn replies(responder: &Model<Cpu>, order: &Order) -> Vec<Reply> {
    let mut replies = Vec::new();
    let tell = |reply| {
        replies.extend(reply);
        Ok(())
    };
    responder.respond(order, tell).unwrap();
    replies
}

/// The text of each choice, put together from its pieces, and how it ended.
fn answers(responder: &Model<Cpu>, order: &Order, choices: usize) -> Vec<(String, FinishReason, u64)> {
    let mut answers = vec![(String::new(), FinishReason::Length, 0); choices];
    for reply in replies(responder, order) {
        match reply {
            Reply::Piece(piece) => answers[piece.choice as usize].0.push_str(&piece.text),
            Reply::Ended { choice, finish, tokens } => {
                let answer = &mut answers[choice as usize];
                (answer.1, answer.2) = (finish, tokens);
            }
            other => assert!(matches!(other, Reply::Began { .. }), "{other:?}"),
        }
    }
    answers
}

#[test]
fn greedy_answers_are_the_samplers_own_and_pieces_add_up() {
    let responder = responder();
    let prompts = ["12+7=", "47+36=", "90-13="];
    let wanted = Order { temperature: 0.0, samples: 2, ..order(&prompts) };
    let spec = SamplingSpec { temperature: 0.0, ..SamplingSpec::default() };
    let requests: Vec<Request> = prompts
        .iter()
        .zip(0..)
        .map(|(text, prompt)| {
            let tokens = responder.tokenizer.encode(text).unwrap().into();
            Request::new(prompt, 0, tokens)
        })
        .collect();
    let stream = Stream::new(0, Purpose::Rollout, 9);
    let sampler = Sampler { decoder: &responder.decoder, tokenizer: &responder.tokenizer, spec: &spec, stream };
    let own = sampler.run(&requests, |_| Ok(())).unwrap();
    let told = answers(&responder, &wanted, 6);
    for (choice, (text, finish, tokens)) in told.iter().enumerate() {
        let own = &own[choice / 2];
        assert_eq!((text, *finish, *tokens), (&own.text, own.finish, own.tokens.len() as u64), "{choice}");
    }
}

/// The tokens of the first choice, with their log-probabilities and the most probable ones.
fn listed(responder: &Model<Cpu>, order: &Order) -> (String, Vec<DrawnToken>) {
    let (mut text, mut tokens) = (String::new(), Vec::new());
    for reply in replies(responder, order) {
        if let Reply::Piece(piece) = reply {
            text.push_str(&piece.text);
            tokens.extend(piece.tokens);
        }
    }
    (text, tokens)
}

#[test]
fn an_echoed_prompt_has_the_models_own_log_probabilities_and_the_completion_those_it_was_drawn_with() {
    let responder = responder();
    let wanted = Order { echo: true, logprobs: true, top_logprobs: 2, max_tokens: Some(2), ..order(&["12+7="]) };
    let (text, tokens) = listed(&responder, &wanted);
    let drawn = listed(&responder, &Order { echo: false, ..wanted.clone() });
    assert_eq!(text, format!("12+7={}", drawn.0));
    assert_eq!((tokens[0].logprob, tokens[0].top.len()), (None, 0), "nothing predicts the first");
    assert_eq!(&tokens[5..5 + drawn.1.len()], &drawn.1[..]);
    // Each is what the token's own context gives it: the rest of the prompt changes nothing.
    for end in 2..=5 {
        let prompt = &"12+7="[..end];
        let (_, alone) = listed(
            &responder,
            &Order { max_tokens: Some(0), ..Order { input: order(&[prompt]).input, ..wanted.clone() } },
        );
        assert_eq!(alone, tokens[..end], "{prompt}");
        let ranked = &alone[end - 1].top;
        assert!(ranked.len() == 2 && ranked[0].1 >= ranked[1].1 && ranked[0].1 >= alone[end - 1].logprob.unwrap());
    }
    // A long prompt, which is read in pieces, has the bits of one pass over all of it.
    let long = "12+7=".repeat(READ_AT_ONCE / 4);
    let (_, pieces) =
        listed(&responder, &Order { max_tokens: Some(0), ..Order { input: order(&[&long]).input, ..wanted.clone() } });
    let read = responder.tokenizer.encode(&long).unwrap();
    let positions: Vec<u32> = (0..read.len() as u32).collect();
    let packed = Packed { tokens: &read, positions: &positions, boundaries: &[0, read.len()] };
    let hidden = responder.decoder.hidden(packed).unwrap();
    let whole = responder.decoder.logprobs(&hidden, &positions[..read.len() - 1], &read[1..]).unwrap().logprobs;
    assert!(pieces[1..].iter().map(|token| token.logprob.unwrap()).eq(whole));
    // Tokens are a prompt as well, and without log-probabilities there is the text alone.
    let ids = responder.tokenizer.encode("12+7=").unwrap();
    let input = CompletionInput::Tokens(vec![ids.clone()]);
    assert_eq!(listed(&responder, &Order { input: input.clone(), ..wanted.clone() }), (text, tokens));
    let plain = Order { input, echo: true, max_tokens: Some(0), ..order(&[]) };
    assert_eq!(listed(&responder, &plain), (String::from("12+7="), Vec::new()));
    let unknown = Order { input: CompletionInput::Tokens(vec![vec![ids[0], 32]]), ..plain };
    match responder.respond(&unknown, |_| Ok(())) {
        Err(RespondError::Refused(fault)) => assert_eq!(fault.code, FaultCode::TokenUnknown),
        other => panic!("{other:?}"),
    }
}

#[test]
fn models_that_differ_by_adapters_share_their_weights() {
    let first = responder();
    let again = Model::load(&first.source, &PromptSpec::default(), &Arc::new(Cpu), Some(&first)).unwrap();
    assert!(Arc::ptr_eq(first.decoder.weights(), again.decoder.weights()));
    let drawn = ModelSource { seed: Some(1), ..first.source.clone() };
    let other = Model::load(&drawn, &PromptSpec::default(), &Arc::new(Cpu), Some(&first)).unwrap();
    assert!(!Arc::ptr_eq(first.decoder.weights(), other.decoder.weights()));
}

#[test]
fn equal_seeds_give_equal_answers_and_other_seeds_others() {
    let responder = responder();
    let wanted = Order { samples: 8, temperature: 3.0, max_tokens: Some(12), ..order(&[&"12+7=".repeat(9)]) };
    let first = replies(&responder, &wanted);
    assert_eq!(first, replies(&responder, &wanted));
    // So for a project that has nothing of what was read before.
    assert_eq!(first, replies(&responder, &Order { project: String::from("prj_b"), ..wanted.clone() }));
    assert_ne!(first, replies(&responder, &Order { seed: 6, ..wanted }));
}

#[test]
fn what_a_client_cannot_have_is_refused_and_a_stop_ends_the_answer() {
    let responder = responder();
    let code = |order: &Order| match responder.respond(order, |_| Ok(())) {
        Err(RespondError::Refused(fault)) => fault.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(&order(&["1+1=", ""])), FaultCode::PromptEmpty);
    assert_eq!(code(&order(&[&"1+".repeat(200)])), FaultCode::ContextLengthExceeded);
    let turn = |role: &str| Turn { role: role.to_owned(), content: String::from("1+1=") };
    let chat = |turns| Order { input: CompletionInput::Chat(turns), ..order(&[]) };
    assert_eq!(code(&chat(vec![turn("system"), turn("user")])), FaultCode::ChatTemplateMissing);
    assert!(responder.respond(&chat(vec![turn("user")]), |_| Ok(())).is_ok());
    let stopped = responder.respond(&order(&["1+1="]), |_| Err(EngineError::Stopped(Stop::Cancel)));
    assert!(matches!(stopped, Err(RespondError::Engine(EngineError::Stopped(Stop::Cancel)))));
}

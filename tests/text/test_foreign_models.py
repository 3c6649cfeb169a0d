"""A local Hugging Face folder made here: config, random weights, a tokeniser trained on the spot; nothing fetched."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import torch
from text_laboratory import documents, text_recipe

from rigwise.errors import BadInput
from rigwise.train.experiment import run_experiment
from rigwise.train.text.models import build_text_model, recipe_tokeniser
from rigwise.train.text.tokeniser import find_tokeniser
from rigwise.train.text_keepsakes import leave_text_model
from rigwise.train.text_lab import TextLab

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers", reason="the `text` extra is not installed")
peft = pytest.importorskip("peft", reason="the `text` extra is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="the `text` extra is not installed")

SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 300}


def train_tokeniser(folder: Path) -> None:
    """A byte-level BPE of 300 tokens."""
    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<end>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(documents(100), trainer)
    transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>").save_pretrained(folder)


def save_llama(folder: Path) -> Path:
    train_tokeniser(folder)
    torch.manual_seed(7)
    config = transformers.LlamaConfig(**SIZES, intermediate_size=32, num_key_value_heads=1)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def save_gpt2(folder: Path) -> Path:
    train_tokeniser(folder)
    torch.manual_seed(7)
    config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=64, vocab_size=300)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_gpt2(tmp_path_factory.mktemp("gpt2"))


def test_its_tokeniser_gives_the_text_back(llama: Path) -> None:
    tokeniser = find_tokeniser(str(llama))
    texts = ["driver kernel loss\n", "é and \U0001f600"]
    assert [tokeniser.decode(tokens.tolist()) for tokens in tokeniser.encode(texts)] == texts
    assert tokeniser.vocabulary_size == 300
    assert (tokeniser.start, tokeniser.end) == (0, 0)
    assert len(tokeniser.encode(texts)[0]) < len(texts[0])


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_the_whole_experiment_runs_on_it(
    make_text_lab: Callable[..., TextLab], request: pytest.FixtureRequest, kind: str
) -> None:
    folder = str(request.getfixturevalue(kind))
    lab = make_text_lab(model=folder, tokeniser=folder, steps=30)
    built = lab.build()
    assert built.weights == f"weights of {folder}"
    assert not built.keeps_apart
    rows = {row.name: row for row in run_experiment(lab).rows}
    validations = [rows["cpu fp32"].val_loss, rows["cpu bf16"].val_loss]
    assert all(loss < 5.4 for loss in validations)  # ln 300 is 5.70


def test_the_loss_is_transformers_own(llama: Path) -> None:
    recipe = text_recipe(model=str(llama))
    model = build_text_model(recipe, 300).model
    tokens = torch.randint(0, 300, (2, 12), generator=torch.Generator().manual_seed(0))
    reference = transformers.AutoModelForCausalLM.from_pretrained(llama)(tokens, labels=tokens).loss
    ours = torch.nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    assert ours.item() == pytest.approx(reference.item(), rel=1e-5)


def test_random_weights_are_random_only_when_asked(llama: Path) -> None:
    recipe = text_recipe(model=str(llama))
    asked = msgspec.structs.replace(recipe, model=msgspec.structs.replace(recipe.model, weights="none"))
    loaded, again, random = (build_text_model(each, 300) for each in (recipe, recipe, asked))
    tokens = torch.arange(10)[None]
    assert torch.equal(loaded.model.eval()(tokens), again.model.eval()(tokens))
    assert not torch.equal(loaded.model.eval()(tokens), random.model.eval()(tokens))
    assert "random weights, as asked" in random.weights


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")  # of peft, in the test's own reading
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_adapters_alone_are_trained_and_saved(
    make_text_lab: Callable[..., TextLab], request: pytest.FixtureRequest, kind: str
) -> None:
    folder = str(request.getfixturevalue(kind))
    lab = make_text_lab(model=folder, tokeniser=folder, lora_rank=2, steps=10)
    built = lab.build()
    before = {name: value.clone() for name, value in built.model.state_dict().items()}
    trained = [name for name, parameter in built.model.named_parameters() if parameter.requires_grad]
    assert trained
    assert all("lora_" in name for name in trained)
    assert not any("lm_head" in name for name in trained)
    assert "of" in built.weights
    assert "parameters are trained" in built.weights
    chosen = run_experiment(lab).trained["cpu fp32"]
    changed = {name for name, value in chosen.weights.items() if not torch.equal(value, before[name])}
    assert changed
    assert all("lora_" in name for name in changed)
    leave_text_model(lab, chosen)
    adapter = lab.folder.path / "model"
    assert (adapter / "adapter_model.safetensors").stat().st_size < 20_000
    assert json.loads((adapter / "adapter_config.json").read_text())["r"] == 2
    again = peft.PeftModel.from_pretrained(transformers.AutoModelForCausalLM.from_pretrained(folder), adapter)
    built.model.load_state_dict(chosen.weights)
    tokens = torch.arange(12)[None]
    assert torch.allclose(again.eval()(tokens).logits, built.model.eval()(tokens), atol=1e-5)


def test_a_fully_trained_model_is_saved_as_transformers_reads_it(
    make_text_lab: Callable[..., TextLab], llama: Path
) -> None:
    lab = make_text_lab(model=str(llama), tokeniser=str(llama))
    chosen = run_experiment(lab).trained["cpu fp32"]
    leave_text_model(lab, chosen)
    again = transformers.AutoModelForCausalLM.from_pretrained(lab.folder.path / "model")
    tokeniser = transformers.AutoTokenizer.from_pretrained(lab.folder.path / "model")
    assert tokeniser.eos_token == "<end>"
    built = lab.build()
    built.model.load_state_dict(chosen.weights)
    tokens = torch.arange(12)[None]
    assert torch.allclose(again.eval()(tokens).logits, built.model.eval()(tokens), atol=1e-5)


def spoilt(folder: Path, name: str, content: str | None) -> Path:
    save_llama(folder)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", None),
        ("config.json", "{"),
        ("config.json", '{"model_type": "nobody"}'),
        ("model.safetensors", None),
        ("model.safetensors", "x"),
    ],
)
def test_a_damaged_model_is_one_clear_error(tmp_path: Path, name: str, content: str | None) -> None:
    with pytest.raises(BadInput, match="cannot use the model"):
        build_text_model(text_recipe(model=str(spoilt(tmp_path / "model", name, content))), 300)


@pytest.mark.parametrize("content", [None, "{", '{"version": "1.0"}'])
def test_a_damaged_tokeniser_is_one_clear_error(tmp_path: Path, content: str | None) -> None:
    folder = spoilt(tmp_path / "model", "tokenizer.json", content)
    with pytest.raises(BadInput, match="cannot use the tokeniser"):
        recipe_tokeniser(text_recipe(model=str(folder)))


def test_a_folder_that_is_not_there_is_not_looked_up_elsewhere(tmp_path: Path) -> None:
    for build in (lambda recipe: build_text_model(recipe, 300), recipe_tokeniser):
        with pytest.raises(BadInput, match="no model folder") as caught:
            build(text_recipe(model="gpt2"))
        assert "nothing is fetched" in caught.value.why


def test_code_in_a_folder_is_never_run(tmp_path: Path) -> None:
    folder = save_llama(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine", "AutoModelForCausalLM": "mine.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    with pytest.raises(BadInput, match="cannot use the model"):
        build_text_model(text_recipe(model=str(folder)), 300)
    assert not (tmp_path / "ran").exists()


def test_a_tokeniser_larger_than_the_model_is_refused(llama: Path) -> None:
    with pytest.raises(BadInput, match="knows 300 tokens, its tokeniser 301"):
        build_text_model(text_recipe(model=str(llama)), 301)


def test_the_built_in_model_takes_no_adapters() -> None:
    with pytest.raises(BadInput, match="LoRA adapts a trained model"):
        build_text_model(text_recipe(lora_rank=4), 257)

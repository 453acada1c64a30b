"""Score pairs of company names by nomenklatura's logic-v2, RapidFuzz and Splink, for bench/company-name-quality.ts.

Reads CSV (name1, name2, is_match, fold) from stdin and writes JSON: for each program one score a pair. Splink learns m and u
probabilities by fold, from the pairs of the other folds, so that its scores are out of fold.
"""
import csv
import json
import logging
import sys

logging.disable(logging.WARNING)
rows = list(csv.DictReader(sys.stdin))
result = {}
problems = {}


def attempt(name, work):
    try:
        result[name] = work()
    except Exception as problem:  # a program that is not installed or has changed is named in the report
        problems[name] = f"{type(problem).__name__}: {problem}"[:300]


def rapidfuzz(scorer):
    def work():
        from rapidfuzz import fuzz, utils

        compare = getattr(fuzz, scorer)
        return [compare(r["name1"], r["name2"], processor=utils.default_process) for r in rows]

    return work


def nomenklatura(module, cls):
    def work():
        import importlib

        from followthemoney import model

        algorithm = getattr(importlib.import_module(module), cls)
        config = algorithm.default_config()

        def entity(identity, name):
            proxy = model.make_entity("Company")
            proxy.id = identity
            proxy.add("name", name)
            return proxy

        return [100 * algorithm.compare(entity(f"a{at}", r["name1"]), entity(f"b{at}", r["name2"]), config).score for at, r in enumerate(rows)]

    return work


def splink():
    import pandas as pd
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator

    api = DuckDBAPI()

    def linker(left, right, settings):
        return Linker([api.register(left), api.register(right)], settings)

    settings = dict(
        link_type="link_only",
        comparisons=[cl.JaroWinklerAtThresholds("name", [0.97, 0.92, 0.88, 0.8, 0.7])],
        blocking_rules_to_generate_predictions=["l.pair = r.pair"],
    )
    from rapidfuzz import utils

    def table(side):
        return pd.DataFrame({
            "unique_id": [f"{side}{at}" for at in range(len(rows))],
            "pair": range(len(rows)),
            "label": [str(at) if r["is_match"] == "1" else f"{side}{at}" for at, r in enumerate(rows)],
            "fold": [r["fold"] for r in rows],
            "name": [utils.default_process(r[f"name{1 if side == 'l' else 2}"]) for r in rows],
        })

    left, right = table("l"), table("r")
    scores = [0.0] * len(rows)
    for fold in sorted(set(left["fold"])):
        train = linker(left[left.fold != fold], right[right.fold != fold], SettingsCreator(**settings))
        train.training.estimate_u_using_random_sampling(1e6)
        train.training.estimate_m_from_label_column("label")
        path = f"/tmp/splink-{fold}.json"
        train.misc.save_model_to_json(path, overwrite=True)
        test = linker(left[left.fold == fold], right[right.fold == fold], path)
        found = test.inference.predict(threshold_match_probability=0).as_pandas_dataframe()
        for identity, weight in zip(found["unique_id_l"], found["match_weight"]):
            scores[int(identity[1:])] = float(weight)
    return scores


attempt("rapidfuzz_token_sort_ratio", rapidfuzz("token_sort_ratio"))
attempt("rapidfuzz_wratio", rapidfuzz("WRatio"))
attempt("nomenklatura_logic_v2", nomenklatura("nomenklatura.matching", "LogicV2"))
attempt("nomenklatura_logic_v1", nomenklatura("nomenklatura.matching", "LogicV1"))
attempt("nomenklatura_name_based", nomenklatura("nomenklatura.matching", "NameMatcher"))
attempt("splink_jaro_winkler", splink)
json.dump({"scores": result, "problems": problems}, sys.stdout)

# SPDX-License-Identifier: Apache-2.0
"""Boosted trees of LightGBM and XGBoost, exported by onnxmltools."""
import lightgbm
import numpy
import onnxmltools
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn import datasets

from .model import Model

ROWS = 40


def make(name, convert, estimator, inputs, targets):
    def export(path):
        estimator.fit(inputs, targets)
        model = convert(estimator, initial_types=[("X", FloatTensorType([None, inputs.shape[1]]))], target_opset=15)
        path.write_bytes(model.SerializeToString())
        return [inputs[:ROWS]]
    return Model("boosted", name, export)


def models():
    two = datasets.make_classification(300, 8, n_informative=6, n_redundant=0, random_state=0)
    three = datasets.load_iris(return_X_y=True)
    value = datasets.make_regression(300, 8, random_state=0)
    sets = {"2": two, "3": three, "regressor": value}
    lightgbm_words, xgboost_words = {"n_estimators": 15, "verbose": -1}, {"n_estimators": 15}
    for boosting in ("gbdt", "dart", "rf"):
        rest = {"bagging_freq": 1, "bagging_fraction": 0.7} if boosting == "rf" else {}
        for label, (inputs, targets) in sets.items():
            kind = lightgbm.LGBMRegressor if label == "regressor" else lightgbm.LGBMClassifier
            yield make(f"lightgbm_{boosting}_{label}", onnxmltools.convert_lightgbm,
                       kind(boosting_type=boosting, **lightgbm_words, **rest), inputs.astype(numpy.float32), targets)
    for objective in ("poisson", "tweedie", "quantile"):
        yield make(f"lightgbm_{objective}", onnxmltools.convert_lightgbm,
                   lightgbm.LGBMRegressor(objective=objective, **lightgbm_words), value[0].astype(numpy.float32),
                   numpy.abs(value[1]))
    for depth in (2, 6):
        for label, (inputs, targets) in sets.items():
            kind = xgboost.XGBRegressor if label == "regressor" else xgboost.XGBClassifier
            yield make(f"xgboost_depth{depth}_{label}", onnxmltools.convert_xgboost, kind(max_depth=depth, **xgboost_words),
                       inputs.astype(numpy.float32), targets)
    for objective in ("count:poisson", "reg:logistic", "reg:gamma"):
        targets = numpy.abs(value[1]) / numpy.abs(value[1]).max() + 0.001
        yield make("xgboost_" + objective.replace(":", "_"), onnxmltools.convert_xgboost,
                   xgboost.XGBRegressor(objective=objective, **xgboost_words), value[0].astype(numpy.float32),
                   numpy.minimum(targets, 1.0))

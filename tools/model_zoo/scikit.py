# SPDX-License-Identifier: Apache-2.0
"""Models of scikit-learn, exported by skl2onnx: linear ones, trees, support vectors and what stands before them."""
import numpy
from skl2onnx import to_onnx
from skl2onnx.common.data_types import StringTensorType
from sklearn import (cluster, datasets, decomposition, discriminant_analysis, ensemble, feature_selection,
    gaussian_process,
                     impute, linear_model, mixture, multiclass, naive_bayes, neighbors, neural_network, pipeline,
                     preprocessing, svm, tree)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from .model import Model

OPSETS = {"": 17, "ai.onnx.ml": 3}
ROWS = 40  # of the inputs that are compared


def data_sets():
    two = datasets.make_classification(300, 8, n_informative=6, n_redundant=0, random_state=0)
    three = datasets.load_iris(return_X_y=True)
    one_value = datasets.make_regression(300, 8, random_state=0)
    three_values = datasets.make_regression(300, 8, n_targets=3, random_state=0)
    return {key: (inputs.astype(numpy.float32), targets) for key, (inputs, targets) in
            {"two": two, "three": three, "value": one_value, "values": three_values}.items()}


def words(targets):
    return numpy.array(["setosa", "versicolor", "virginica"])[targets]


def make(kind, name, estimator, inputs, targets, options=None):
    def export(path):
        estimator.fit(inputs, targets)
        model = to_onnx(estimator, inputs[:1], target_opset=OPSETS, options=options)
        path.write_bytes(model.SerializeToString())
        return [inputs[:ROWS]]
    return Model(kind, name, export)


def linear(sets):
    two, three, value, values = sets["two"], sets["three"], sets["value"], sets["values"]
    classifiers = {"logistic": linear_model.LogisticRegression(max_iter=500), "ridge": linear_model.RidgeClassifier(),
                   "sgd": linear_model.SGDClassifier(random_state=0), "perceptron": linear_model.Perceptron(),
                   "passive_aggressive": linear_model.PassiveAggressiveClassifier(random_state=0),
                   "lda": discriminant_analysis.LinearDiscriminantAnalysis(),
                   "qda": discriminant_analysis.QuadraticDiscriminantAnalysis(),
                   "gaussian_nb": naive_bayes.GaussianNB(), "bernoulli_nb": naive_bayes.BernoulliNB(),
                   "neighbors": neighbors.KNeighborsClassifier(),
                   "mlp": neural_network.MLPClassifier(hidden_layer_sizes=(8,), max_iter=60, random_state=0),
                   "one_vs_rest": multiclass.OneVsRestClassifier(linear_model.LogisticRegression(max_iter=500))}
    for name, estimator in classifiers.items():
        yield make("linear", f"{name}_2", estimator, *two)
        yield make("linear", f"{name}_3", type(estimator)(**estimator.get_params(deep=False)), *three)
    yield make("linear", "logistic_words", linear_model.LogisticRegression(max_iter=500), three[0], words(three[1]))
    yield make("linear", "logistic_no_map", linear_model.LogisticRegression(max_iter=500), *three,
               options={"zipmap": False})
    regressors = {"least_squares": linear_model.LinearRegression, "ridge": linear_model.Ridge,
    "lasso": linear_model.Lasso,
                  "elastic_net": linear_model.ElasticNet, "bayesian_ridge": linear_model.BayesianRidge,
                  "huber": linear_model.HuberRegressor, "theil_sen": linear_model.TheilSenRegressor,
                  "poisson": linear_model.PoissonRegressor, "lars": linear_model.Lars,
                  "omp": linear_model.OrthogonalMatchingPursuit,
                  "ard": linear_model.ARDRegression, "neighbors": neighbors.KNeighborsRegressor}
    for name, make_estimator in regressors.items():
        targets = numpy.abs(value[1]) if name == "poisson" else value[1]
        yield make("linear", f"{name}_regressor", make_estimator(), value[0], targets)
    yield make("linear", "least_squares_3_targets", linear_model.LinearRegression(), *values)
    yield make("linear", "mlp_regressor", neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=60,
        random_state=0), *value)
    yield make("linear", "gaussian_process", gaussian_process.GaussianProcessRegressor(), value[0], value[1] / 100)


def trees(sets):
    two, three, value, values = sets["two"], sets["three"], sets["value"], sets["values"]
    few = {"n_estimators": 12, "random_state": 0}
    classifiers = {"tree": (tree.DecisionTreeClassifier, {"random_state": 0}),
    "forest": (ensemble.RandomForestClassifier, few),
                   "extra_trees": (ensemble.ExtraTreesClassifier, few),
                   "gradient_boosting": (ensemble.GradientBoostingClassifier, few),
                   "hist_boosting": (ensemble.HistGradientBoostingClassifier, {"max_iter": 12}),
                   "ada_boost": (ensemble.AdaBoostClassifier, {"n_estimators": 5, "random_state": 0}),
                   "bagging": (ensemble.BaggingClassifier, {"n_estimators": 4, "random_state": 0})}
    for name, (estimator, parameters) in classifiers.items():
        yield make("trees", f"{name}_2", estimator(**parameters), *two)
        yield make("trees", f"{name}_3", estimator(**parameters), *three)
    yield make("trees", "forest_words", ensemble.RandomForestClassifier(**few), three[0], words(three[1]))
    yield make("trees", "isolation_forest", ensemble.IsolationForest(n_estimators=10, random_state=0), *two)
    regressors = {"tree": (tree.DecisionTreeRegressor, {"random_state": 0}),
    "forest": (ensemble.RandomForestRegressor, few),
                  "extra_trees": (ensemble.ExtraTreesRegressor, few),
                  "gradient_boosting": (ensemble.GradientBoostingRegressor, few),
                  "hist_boosting": (ensemble.HistGradientBoostingRegressor, {"max_iter": 12}),
                  "ada_boost": (ensemble.AdaBoostRegressor, {"n_estimators": 5, "random_state": 0})}
    for name, (estimator, parameters) in regressors.items():
        yield make("trees", f"{name}_regressor", estimator(**parameters), *value)
    yield make("trees", "forest_3_targets", ensemble.RandomForestRegressor(**few), *values)


def svms(sets):
    two, three, value = sets["two"], sets["three"], sets["value"]
    for kernel in ("linear", "poly", "rbf", "sigmoid"):
        yield make("svm", f"svc_{kernel}_2", svm.SVC(kernel=kernel), *two)
        yield make("svm", f"svc_{kernel}_3", svm.SVC(kernel=kernel), *three)
        yield make("svm", f"svr_{kernel}", svm.SVR(kernel=kernel), *value)
    yield make("svm", "svc_probability", svm.SVC(probability=True, random_state=0), *three)
    yield make("svm", "svc_words", svm.SVC(), three[0], words(three[1]))
    yield make("svm", "nu_svc", svm.NuSVC(), *three)
    yield make("svm", "nu_svr", svm.NuSVR(), *value)
    yield make("svm", "linear_svc", svm.LinearSVC(), *three)
    yield make("svm", "linear_svr", svm.LinearSVR(), *value)
    yield make("svm", "one_class", svm.OneClassSVM(), *two)


def pipelines(sets):
    three = sets["three"]
    logistic = {"max_iter": 500}
    steps = {"standard": preprocessing.StandardScaler(), "min_max": preprocessing.MinMaxScaler(),
             "max_abs": preprocessing.MaxAbsScaler(), "robust": preprocessing.RobustScaler(),
             "normalizer": preprocessing.Normalizer(), "binarizer": preprocessing.Binarizer(threshold=2.0),
             "polynomial": preprocessing.PolynomialFeatures(), "pca": decomposition.PCA(3),
             "svd": decomposition.TruncatedSVD(2),
             "power": preprocessing.PowerTransformer(),
             "bins": preprocessing.KBinsDiscretizer(3, encode="onehot-dense"),
             "bins_ordinal": preprocessing.KBinsDiscretizer(3, encode="ordinal"), "imputer": impute.SimpleImputer(),
             "select": feature_selection.SelectKBest(k=2), "variance": feature_selection.VarianceThreshold(0.2)}
    for name, step in steps.items():
        yield make("pipelines", name, pipeline.make_pipeline(step, linear_model.LogisticRegression(**logistic)), *three)
    yield make("pipelines", "kmeans", cluster.KMeans(3, n_init=1, random_state=0), *three)
    yield make("pipelines", "mini_batch_kmeans", cluster.MiniBatchKMeans(3, n_init=1, random_state=0), *three)
    yield make("pipelines", "mixture", mixture.GaussianMixture(3, random_state=0), *three)
    yield make("pipelines", "voting", ensemble.VotingClassifier(
        [("a", linear_model.LogisticRegression(**logistic)), ("b", tree.DecisionTreeClassifier(random_state=0))],
        voting="soft", flatten_transform=False), *three)
    yield make("pipelines", "stacking", ensemble.StackingClassifier(
        [("a", naive_bayes.GaussianNB()), ("b", tree.DecisionTreeClassifier(random_state=0))],
        linear_model.LogisticRegression(**logistic)), *three)
    codes = numpy.random.RandomState(0).randint(0, 4, (50, 2)).astype(numpy.int64)
    targets = numpy.arange(50) % 2
    yield make("pipelines", "one_hot", preprocessing.OneHotEncoder(sparse_output=False), codes, targets)
    yield make("pipelines", "ordinal", preprocessing.OrdinalEncoder(), codes, targets)
    names = numpy.array(["red", "green", "blue", "grey"])[codes]
    yield make("pipelines", "one_hot_words", preprocessing.OneHotEncoder(sparse_output=False), names, targets)
    yield make("pipelines", "ordinal_words", preprocessing.OrdinalEncoder(), names, targets)


def texts(_sets):
    sentences = ["This is the first document.", "This document is the second document.", "and the third one, naïve café",
                 "Is this the first document? Yes, it's number 1!", "none of the words", "a b cc  ddd"] * 4
    targets = numpy.arange(len(sentences)) % 2

    def of(name, estimator):
        def export(path):
            estimator.fit(sentences, targets)
            # ONNX Runtime has no other locale on many machines.
            options = {vectorizer: {"locale": "C.UTF-8"} for vectorizer in (CountVectorizer, TfidfVectorizer)}
            model = to_onnx(estimator, initial_types=[("x", StringTensorType([None, 1]))], target_opset=OPSETS,
                            options=options)
            path.write_bytes(model.SerializeToString())
            return [numpy.array(sentences[:6]).reshape(-1, 1)]
        return Model("texts", name, export)

    logistic = linear_model.LogisticRegression(max_iter=1000)
    yield of("count", CountVectorizer())
    yield of("tfidf", TfidfVectorizer())
    yield of("tfidf_pairs", TfidfVectorizer(token_pattern="[a-zA-Z]+", ngram_range=(1, 2)))
    yield of("characters", CountVectorizer(analyzer="char", ngram_range=(1, 3)))
    yield of("stop_words", TfidfVectorizer(lowercase=False, stop_words=["the"]))
    yield of("count_logistic", pipeline.make_pipeline(CountVectorizer(), logistic))
    yield of("tfidf_trees", pipeline.make_pipeline(TfidfVectorizer(), tree.DecisionTreeClassifier(random_state=0)))


def models():
    sets = data_sets()
    for family in (linear, trees, svms, pipelines, texts):
        yield from family(sets)

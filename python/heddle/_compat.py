"""What differs between scikit-learn 1.2 and the newest one."""

try:
    from sklearn.utils.validation import validate_data  # from 1.6 on
except ImportError:

    def validate_data(estimator, *arrays, **how):
        return estimator._validate_data(*arrays, **how)


__all__ = ["validate_data"]

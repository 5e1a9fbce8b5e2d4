package lochan;

import lochan.spark.SourceProvider;

/**
 * The data source `lochan`: Spark looks for a class `lochan.DefaultSource` before it looks for a source in Python.
 *
 * <p>It is no service (META-INF/services), for the Python source bears the same name: later versions of Spark refuse a
 * name that a service and a Python source share.
 */
public final class DefaultSource extends SourceProvider {}
